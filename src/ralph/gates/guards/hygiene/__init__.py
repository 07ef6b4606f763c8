"""Would anybody commit this as it is? These guards only say not yet."""
