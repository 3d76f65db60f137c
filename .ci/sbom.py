"""Write the software bill of materials of an environment: `python sbom.py WHEEL OUT.cdx.json`.

The Python that runs this has the wheel installed, and nothing else. The form is CycloneDX 1.6, as
JSON: the wheel, the weights inside it, and every package that was installed with it. `make release`
calls it.
"""

import hashlib
import json
import re
import sys
import zipfile
from importlib.metadata import Distribution, distributions, requires
from pathlib import Path
from typing import Any

TOOLS = (
    "caesura",
    "pip",
    "setuptools",
    "wheel",
)  # the wheel itself, and what every environment has


def component(package: Distribution) -> dict[str, Any]:
    """Return a package as a component."""
    name, version = key(package.name), package.version
    found: dict[str, Any] = {"type": "library", "name": name, "version": version}
    found["purl"] = found["bom-ref"] = f"pkg:pypi/{name}@{version}"
    if licence := package.metadata.get("License-Expression"):
        found["licenses"] = [{"expression": licence}]
    return found


def key(name: str) -> str:
    """Return the name as package indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def sha256(content: bytes) -> list[dict[str, str]]:
    """Return the hash of a content, as CycloneDX writes it."""
    return [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]


def main(wheel: Path, out: Path) -> None:
    """Write the bill of this environment."""
    installed = {key(package.name): package for package in distributions()}
    whole = component(installed["caesura"]) | {"hashes": sha256(wheel.read_bytes())}
    libraries = [component(one) for name, one in sorted(installed.items()) if name not in TOOLS]
    with zipfile.ZipFile(wheel) as files:
        weights = [
            {
                "type": "machine-learning-model",
                "name": Path(name).stem,
                "bom-ref": name,
                "hashes": sha256(files.read(name)),
            }
            for name in sorted(files.namelist())
            if name.endswith(".safetensors")
        ]
    refs = {one["name"]: one["bom-ref"] for one in [whole, *libraries]}
    dependencies = []
    for name, ref in refs.items():
        needed = {key(re.split(r"[^\w.-]", line)[0]) for line in requires(name) or ()}
        inside = [one["bom-ref"] for one in weights] if name == "caesura" else []
        on = sorted(refs[other] for other in needed & refs.keys() - {name})
        dependencies.append({"ref": ref, "dependsOn": on + inside})
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole},
        "components": libraries + weights,
        "dependencies": dependencies,
    }
    out.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
