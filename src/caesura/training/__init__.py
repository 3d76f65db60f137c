"""How nets learn: what is hidden from them, what is made small, and the loop."""
