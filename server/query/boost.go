package query

import (
	"math"
	"strconv"
	"strings"
)

// boosted parses an optional ^factor after n. It returns n itself if there is none.
func (p *parser) boosted(n Node, in scope) (Node, error) {
	tok, err := p.peek(in.list())
	if err != nil || tok.kind != tokBoost {
		return n, err
	}
	factor, err := p.factor(tok)
	if err != nil {
		return nil, err
	}
	return Boost{Node: n, Factor: factor}, nil
}

// factor parses the number directly after ^. The number consists of digits and an optional decimal part, without a sign.
func (p *parser) factor(sign token) (float64, error) {
	digits := func(i int) int {
		for i < len(p.src) && '0' <= p.src[i] && p.src[i] <= '9' {
			i++
		}
		return i
	}
	start := sign.end
	end := digits(start)
	if end == start {
		return 0, p.errorAt(start, "no number after ^", "a factor such as 2 or 0.5")
	}
	if end < len(p.src) && p.src[end] == '.' {
		if decimals := digits(end + 1); decimals > end+1 {
			end = decimals
		}
	}
	f, err := strconv.ParseFloat(string(p.src[start:end]), 64)
	if err != nil || f > math.MaxFloat32 {
		return 0, p.errorAt(start, "the factor after ^ is too large", "a smaller number")
	}
	p.pos = end
	return f, nil
}

// String returns the node and its factor as text.
func (n Boost) String() string {
	var b strings.Builder
	if inner, ok := n.Node.(Boost); ok {
		b.WriteString("(" + inner.String() + ")")
	} else {
		b.WriteString(nested(n.Node))
	}
	b.WriteByte('^')
	b.WriteString(strconv.FormatFloat(n.Factor, 'f', -1, 64))
	return b.String()
}
