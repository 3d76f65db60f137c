"""Look up known vulnerabilities of the packages in .ci/lock.txt: `make audit`.

pip-audit passes if it could not look anything up; here that is told apart. The exit code is 1 if
there is a vulnerability, and 0 with one line if the advisories cannot be reached.
"""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parent / "lock.txt"


def main() -> None:
    """Run pip-audit, and say what it found."""
    words = ["-m", "pip_audit", "--disable-pip", "--no-deps", "-f", "json", "-r", str(LOCK)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        packages = []
    looked_up = [package for package in packages if "vulns" in package]
    for package in looked_up:
        for found in package["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "no version"
            print(f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}")
    if any(package["vulns"] for package in looked_up):
        sys.exit(1)
    if not looked_up:
        reasons = [package["skip_reason"] for package in packages[:1]] or [done.stderr[-200:]]
        print(f"Not audited, since the advisories cannot be reached: {reasons[0]}")
    else:
        print(f"{len(looked_up)} of {len(packages)} packages audited: nothing known.")


if __name__ == "__main__":
    main()
