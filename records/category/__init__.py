"""The /category endpoint over the reference lists."""
