package sample

// dice are the random choices of one item. They are a generator of our own (SplitMix64, after Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", 2014), so that the sample is the same bytes with every Go release.
type dice struct{ state uint64 }

// roll returns a number in [0, n); n is small, so the bias of the remainder does not matter.
func (d *dice) roll(n int) int {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// chance is true percent times in a hundred.
func (d *dice) chance(percent int) bool { return d.roll(100) < percent }

// pick returns one of the choices.
func pick[T any](d *dice, from []T) T { return from[d.roll(len(from))] }
