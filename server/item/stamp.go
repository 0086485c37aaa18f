package item

// A packed timestamp is a timestamp in whole seconds of UTC, such as 2026-11-20T08:00:00Z, in six bytes: packedMark, and 40 bits with the
// year, month, day, hour, minute and second, in this order. Two more bytes hold the milliseconds of a timestamp with three decimal places.
// Texts in an Encoded are escaped, so none of them begins with packedMark.
const (
	packedMark   = 1
	packedLen    = 6
	packedLonger = packedLen + 2
	stampLen     = len(epoch)
	stampLonger  = stampLen + len(".000")
)

// appendStamp appends a timestamp to an Encoded: packed if possible, and otherwise as a text.
func appendStamp(dst []byte, stamp string) []byte {
	seconds, millis := stamp, 0
	if len(stamp) == stampLonger && stamp[stampLen-1] == '.' && stamp[stampLonger-1] == 'Z' {
		seconds = stamp[:stampLen-1] + "Z"
		for _, digit := range []byte(stamp[stampLen : stampLonger-1]) {
			if digit < '0' || digit > '9' {
				return appendEscaped(dst, stamp)
			}
			millis = millis*10 + int(digit-'0')
		}
	}
	bits, ok := packStamp(seconds)
	if !ok {
		return appendEscaped(dst, stamp)
	}
	dst = append(dst, packedMark, byte(bits>>32), byte(bits>>24), byte(bits>>16), byte(bits>>8), byte(bits))
	if len(stamp) == stampLonger {
		dst = append(dst, byte(millis>>8), byte(millis))
	}
	return dst
}

// stampFields describes the month, day, hour, minute and second of a packed timestamp: the number of their bits, and the places of their two
// digits in the text.
var stampFields = [...]struct{ width, at int }{{4, 5}, {5, 8}, {5, 11}, {6, 14}, {6, 17}}

// packStamp returns the 40 bits of a packed timestamp, or false if the timestamp cannot be packed.
func packStamp(s string) (bits uint64, ok bool) {
	if len(s) != stampLen || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z' {
		return 0, false
	}
	two := func(at int) uint64 {
		tens, ones := s[at]-'0', s[at+1]-'0'
		if tens > 9 || ones > 9 {
			return 1 << 32 // too large for any field
		}
		return uint64(tens)*10 + uint64(ones)
	}
	bits = two(0)*100 + two(2)
	if bits > 9999 {
		return 0, false
	}
	for _, f := range stampFields {
		n := two(f.at)
		if n >= 1<<f.width {
			return 0, false
		}
		bits = bits<<f.width | n
	}
	return bits, true
}

// unpackStamp returns the text of a timestamp that appendStamp appended. buf is memory for the result.
func unpackStamp(stamp []byte, buf *[stampLonger]byte) []byte {
	if !isPacked(stamp) {
		return stamp
	}
	return buf[:putStamp(buf, stamp)]
}

func isPacked(stamp []byte) bool {
	return (len(stamp) == packedLen || len(stamp) == packedLonger) && stamp[0] == packedMark
}

// twoDigits holds the numbers from 0 to 99 with two digits each.
const twoDigits = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" + "40414243444546474849" +
	"50515253545556575859" + "60616263646566676869" + "70717273747576777879" + "80818283848586878889" + "90919293949596979899"

// putStamp writes the text of a packed timestamp, and returns its length. A loop over stampFields would make Append 4 % slower.
func putStamp(out *[stampLonger]byte, packed []byte) int {
	_ = packed[5]
	high, low := uint32(packed[1])<<8|uint32(packed[2]), uint32(packed[3])<<16|uint32(packed[4])<<8|uint32(packed[5])
	year := high >> 2 % 10000
	month, day := high&3<<2|low>>22, low>>17&31
	hour, minute, second := low>>12&31, low>>6&63, low&63
	*out = [stampLonger]byte{4: '-', 7: '-', 10: 'T', 13: ':', 16: ':', 19: 'Z'}
	put := func(at int, n uint32) { out[at], out[at+1] = twoDigits[2*n], twoDigits[2*n+1] }
	put(0, year/100)
	put(2, year%100)
	put(5, month)
	put(8, day)
	put(11, hour)
	put(14, minute)
	put(17, second)
	if len(packed) == packedLen {
		return stampLen
	}
	millis := (uint32(packed[6])<<8 | uint32(packed[7])) % 1000
	out[stampLen-1], out[stampLen] = '.', byte('0'+millis/100)
	put(stampLen+1, millis%100)
	out[stampLonger-1] = 'Z'
	return stampLonger
}
