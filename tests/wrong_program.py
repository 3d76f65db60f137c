"""A user's mistakes, each of which a type checker must see."""

import caesura

filler = caesura.load(3)
filler.fill("The qu___ brown fox", samples="two")
print(filler.fill("The qu___ brown fox").gap)
caesura.train(["a.txt"], kind="text", seed="one")
