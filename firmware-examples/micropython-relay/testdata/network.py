"""There is no Wi-Fi in tests: config.json has none there."""
