package query

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// errNumber is the error for a text that is not a number. errRange is the error for a number outside the range of the type.
var (
	errNumber = errors.New("not a number")
	errRange  = errors.New("out of range")
)

// whole is a decimal number truncated to an integer.
type whole struct {
	n int64
	// cut is true if truncation removed a fraction. negative is true if the number was negative before truncation.
	cut, negative bool
}

// parseWhole parses a decimal number exactly. The number can have a fraction and an exponent.
func parseWhole(s string) (whole, error) {
	var w whole
	digits, point, err := decimal(s)
	if err != nil {
		return w, err
	}
	w.negative = strings.HasPrefix(s, "-")
	lead := len(digits) - len(strings.TrimLeft(digits, "0"))
	digits, point = digits[lead:], point-lead
	if digits == "" {
		return w, nil
	}
	if point > 19 {
		return w, errRange
	}
	if point <= 0 {
		w.cut = true
		return w, nil
	}
	if point >= len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	} else {
		w.cut = strings.Trim(digits[point:], "0") != ""
		digits = digits[:point]
	}
	if w.negative {
		digits = "-" + digits
	}
	if w.n, err = strconv.ParseInt(digits, 10, 64); err != nil {
		return w, errRange
	}
	return w, nil
}

// decimal parses a number of the form [sign]digits[.digits][e[sign]digits]. It returns the digits and the position of the decimal point
// among them.
func decimal(s string) (digits string, point int, err error) {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		e := strings.TrimLeft(s[i+1:], "+-")
		if !allDigits(e) || len(s[i+1:])-len(e) > 1 {
			return "", 0, errNumber
		}
		// With an exponent of this size, every number that fits into a query is 0 or out of range, so a larger exponent has the same effect.
		n, convErr := strconv.Atoi(e)
		if convErr != nil || n > 4*MaxLength {
			n = 4 * MaxLength
		}
		if exponent = n; s[i+1] == '-' {
			exponent = -n
		}
	}
	integer, fraction, dotted := strings.Cut(mantissa, ".")
	digits = integer + fraction
	if !allDigits(digits) || dotted && fraction == "" && integer == "" {
		return "", 0, errNumber
	}
	return digits, len(integer) + exponent, nil
}

// parseDouble parses a decimal number.
func parseDouble(s string) (float64, error) {
	if _, _, err := decimal(s); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, errRange
	}
	return f, nil
}

var errBoolean = errors.New("not a boolean")

func parseBoolean(s string) (int64, error) {
	switch s {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	return 0, errBoolean
}

// Fold returns the form of s that is used to compare keywords: s with each character converted to lower case separately.
func Fold(s string) string { return analysis.Keyword(s) }

// Folded reports whether Fold leaves a character unchanged. Words and keywords in an index contain only such characters.
func Folded(r rune) bool { return Fold(string(r)) == string(r) }
