"""The instrument test: known flaws are planted in bundled policies, and it is counted whether findings name them."""
