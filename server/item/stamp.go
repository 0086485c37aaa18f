package item

// A packed timestamp is a timestamp in whole seconds of UTC, such as 2026-11-20T08:00:00Z, in six bytes: packedMark, and 40 bits with the
// year, month, day, hour, minute and second, in this order. Texts in an Encoded are escaped, so none of them begins with packedMark.
const (
	packedMark = 1
	packedLen  = 6
	stampLen   = len(epoch)
)

// appendStamp appends a timestamp to an Encoded: packed if possible, and otherwise as a text.
func appendStamp(dst []byte, stamp string) []byte {
	if bits, ok := packStamp(stamp); ok {
		return append(dst, packedMark, byte(bits>>32), byte(bits>>24), byte(bits>>16), byte(bits>>8), byte(bits))
	}
	return appendEscaped(dst, stamp)
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
func unpackStamp(stamp []byte, buf *[stampLen]byte) []byte {
	if !isPacked(stamp) {
		return stamp
	}
	putStamp(buf, stamp)
	return buf[:]
}

func isPacked(stamp []byte) bool { return len(stamp) == packedLen && stamp[0] == packedMark }

// twoDigits holds the numbers from 0 to 99 with two digits each.
const twoDigits = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" + "40414243444546474849" +
	"50515253545556575859" + "60616263646566676869" + "70717273747576777879" + "80818283848586878889" + "90919293949596979899"

// putStamp writes the text of a packed timestamp. A loop over stampFields would make Append 4 % slower.
func putStamp(out *[stampLen]byte, packed []byte) {
	_ = packed[5]
	high, low := uint32(packed[1])<<8|uint32(packed[2]), uint32(packed[3])<<16|uint32(packed[4])<<8|uint32(packed[5])
	year := high >> 2 % 10000
	month, day := high&3<<2|low>>22, low>>17&31
	hour, minute, second := low>>12&31, low>>6&63, low&63
	*out = [stampLen]byte{4: '-', 7: '-', 10: 'T', 13: ':', 16: ':', 19: 'Z'}
	put := func(at int, n uint32) { out[at], out[at+1] = twoDigits[2*n], twoDigits[2*n+1] }
	put(0, year/100)
	put(2, year%100)
	put(5, month)
	put(8, day)
	put(11, hour)
	put(14, minute)
	put(17, second)
}
