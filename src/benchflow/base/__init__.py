"""What every package may need, once: home folder, text made safe, numbers as people read them."""
