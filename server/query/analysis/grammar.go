package analysis

// The words of a text are what this grammar matches, the longest match first; everything else is skipped, a character
// at a time. It is Unicode Standard Annex 29 as Lucene's StandardTokenizer has it: ideographs and Hiragana one by one,
// runs of Thai, Lao, Khmer or Myanmar whole, emoji sequences (UTS 51) as words.

// Rule WB4: what follows a character and has no width of its own stays with it.
var (
	marks         = of(extend, complexMark, joiner, textStyle, emojiStyle, modifier, keycap, tagSpec, tagEnd)
	unstyledMarks = marks &^ of(textStyle, emojiStyle)
)

// of returns the set of some classes.
func of(cs ...class) (set uint32) {
	for _, c := range cs {
		set |= 1 << c
	}
	return set
}

// wordGrammar is the whole of it.
func wordGrammar() rule {
	marked := func(cs ...class) rule { return seq(one(of(cs...)), star(one(marks))) }
	var (
		letters    = marked(letter, letterPictograph, hebrew)
		hebrews    = marked(hebrew)
		numerics   = marked(digit, numeric)
		katakanas  = marked(katakana)
		connectors = marked(connector)
		midLetters = marked(midLetter, midNumLet, singleQuote)
		midNumbers = marked(midNum, midNumLet, singleQuote)
		quote      = marked(singleQuote)
		quotes     = marked(doubleQuote)
	)
	// WB5 to WB13b. A part is Katakana, or letters and numbers in any mix; connectors join parts and surround them.
	part := alt(
		seq(katakanas, star(seq(star(connectors), katakanas))),
		plus(alt(
			seq(hebrews, alt(quote, seq(quotes, hebrews))),
			seq(numerics, star(seq(alt(star(connectors), midNumbers), numerics))),
			seq(letters, star(seq(alt(star(connectors), midLetters), letters))),
		)),
	)
	word := seq(star(connectors), part, star(seq(plus(connectors), part)), star(connectors))

	// A style selector decides about an emoji, so that only the other marks are part of a single one.
	unstyled := func(cs ...class) rule { return seq(one(of(cs...)), star(one(unstyledMarks))) }
	emoji := alt(
		seq(star(one(of(joiner))), unstyled(pictograph, letterPictograph), opt(one(of(emojiStyle)))),
		unstyled(modifier),
	)
	return alt(
		word,
		marked(han),
		marked(hiragana),
		plus(marked(complexLetter, complexMark)),
		seq(emoji, alt(
			star(seq(one(of(joiner)), emoji)),
			seq(plus(one(of(tagSpec))), one(of(tagEnd))),
		)),
		seq(unstyled(digit, keycapSign), opt(one(of(emojiStyle))), unstyled(keycap)),
		seq(marked(regional), marked(regional)),
	)
}
