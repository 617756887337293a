package i2ctest

// BMP280 returns a chip at 25.08 °C and 1006.53 hPa: the example of its datasheet (3.12).
func BMP280() *Registers {
	r := &Registers{}
	r.Values[0xd0] = 0x58
	for i, v := range []int{27504, 26435, -1000, 36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000} {
		r.Values[0x88+2*i], r.Values[0x89+2*i] = byte(v), byte(v>>8)
	}
	for i, v := range []int{415148, 519888} { // pressure, temperature
		r.Values[0xf7+3*i], r.Values[0xf8+3*i], r.Values[0xf9+3*i] = byte(v>>12), byte(v>>4), byte(v<<4)
	}
	return r
}

// BME280 returns the same with a humidity sensor: the kernel's driver computes 45.8 % from
// its registers.
func BME280() *Registers {
	r := BMP280()
	r.Values[0xd0] = 0x60
	r.Values[0xa1] = 75                                                     // H1
	copy(r.Values[0xe1:], []byte{0x6a, 0x01, 0x00, 0x13, 0x2a, 0x03, 0x1e}) // H2 362, H3 0, H4 314, H5 50, H6 30
	r.Values[0xfd], r.Values[0xfe] = 0x6f, 0x00
	return r
}
