package analysis

// The grammar matches one word at the start of a text. The longest match wins. The scanner skips a character at which no match begins. The
// grammar follows Unicode Standard Annex 29 as implemented by Lucene's StandardTokenizer: each ideograph and each Hiragana character is a
// word, and so is each whole run of Thai, Lao, Khmer or Myanmar, and each emoji sequence (UTS 51).

// Marks are the zero-width characters that belong to the character before them (rule WB4).
var (
	marks         = of(extend, complexMark, joiner, textStyle, emojiStyle, modifier, keycap, tagSpec, tagEnd)
	unstyledMarks = marks &^ of(textStyle, emojiStyle)
)

// of returns a set of classes.
func of(cs ...class) (set uint32) {
	for _, c := range cs {
		set |= 1 << c
	}
	return set
}

// wordGrammar returns the whole grammar.
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
	// part and word implement the rules WB5 to WB13b. A part is a run of Katakana, or any mix of letters and numbers. Connectors can join
	// parts, precede the first part and follow the last.
	part := alt(
		seq(katakanas, star(seq(star(connectors), katakanas))),
		plus(alt(
			seq(hebrews, alt(quote, seq(quotes, hebrews))),
			seq(numerics, star(seq(alt(star(connectors), midNumbers), numerics))),
			seq(letters, star(seq(alt(star(connectors), midLetters), letters))),
		)),
	)
	word := seq(star(connectors), part, star(seq(plus(connectors), part)), star(connectors))

	// Within an emoji, style selectors are not plain marks, because they select the form of the emoji.
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
