package sample

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MediaURL is the beginning of the URLs of all pictures and videos in the sample. No server with this host name exists; Picture returns the
// pictures.
const MediaURL = "https://media.example.com/"

// Picture returns the picture at a path below MediaURL, as an SVG drawing of the item's theme, or nil if the sample has no picture at that
// path.
func Picture(path string) []byte {
	directory, file, _ := strings.Cut(path, "/")
	if directory == "avatars" {
		return avatar(file)
	}
	id, err := strconv.Atoi(directory)
	if err != nil || id < FirstID || file == "" || strings.Contains(file, "original.mp4") {
		return nil
	}
	theme := makeItem(id-FirstID, Default)["tags"].(object)["theme"].([]object)[0]["key"].(string)
	c := &canvas{dice: throw(kindPicture, id)}
	c.sky()
	scenes[theme](c)
	return c.svg()
}

// avatar returns an author's picture, which is generated from the file name.
func avatar(file string) []byte {
	sum := 0
	for _, b := range []byte(file) {
		sum = sum*31 + int(b)
	}
	c := &canvas{dice: throw(kindPicture, sum)}
	hue := c.IntN(360)
	c.rect(0, 0, side, side, hsl(hue, 45, 82))
	c.circle(side/2, 310, 150, hsl(hue+180, 35, 60))
	c.circle(side/2, 800, 300, hsl(hue+20, 45, 45))
	return c.svg()
}

// side is the width and the height of a picture.
const side = 800

// canvas collects the shapes of a picture.
type canvas struct {
	dice
	shapes strings.Builder
	// hue is the hue of the light, which colors the sky and tints distant things. night is true for a dark sky.
	hue   int
	night bool
}

func hsl(hue, saturation, lightness int) string {
	return fmt.Sprintf("hsl(%d %d%% %d%%)", (hue%360+360)%360, saturation, lightness)
}

func (c *canvas) draw(format string, a ...any) { fmt.Fprintf(&c.shapes, format, a...) }

func (c *canvas) rect(x, y, width, height int, fill string) {
	c.draw(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, x, y, width, height, fill)
}

func (c *canvas) circle(x, y, radius int, fill string) {
	c.draw(`<circle cx="%d" cy="%d" r="%d" fill="%s"/>`, x, y, radius, fill)
}

// ridge fills the area below a wavy line, which has count waves around the height y.
func (c *canvas) ridge(y, amplitude int, count float64, fill string) {
	phase := c.Float64() * 2 * math.Pi
	c.draw(`<path fill="%s" d="M0 %d`, fill, side)
	for x := 0; x <= side; x += 20 {
		at := float64(x)/side*2*math.Pi*count + phase
		c.draw(" L%d %d", x, y+int(float64(amplitude)*(math.Sin(at)+0.4*math.Sin(2.3*at))))
	}
	c.draw(` L%d %dZ"/>`, side, side)
}

func (c *canvas) sky() {
	c.night = c.chance(25)
	c.hue = pick(c.dice, []int{18, 32, 195, 205, 215, 338})
	top, bottom := hsl(c.hue+20, 65, 62), hsl(c.hue-10, 80, 86)
	if c.night {
		top, bottom = hsl(235, 45, 14), hsl(c.hue+250, 40, 36)
	}
	c.draw(`<linearGradient id="s" x2="0" y2="1"><stop stop-color="%s"/><stop offset="1" stop-color="%s"/></linearGradient>`, top, bottom)
	c.rect(0, 0, side, side, "url(#s)")
	if c.night {
		for range 40 {
			c.circle(c.IntN(side), c.IntN(500), 1+c.IntN(3), "#fff")
		}
	}
	x, y, light := 140+c.IntN(520), 130+c.IntN(180), hsl(46, 95, 80)
	c.draw(`<circle cx="%d" cy="%d" r="130" fill="%s" opacity=".25"/>`, x, y, light)
	c.circle(x, y, 70, light)
}

// shade returns the color of something at a distance between 0 (near) and 100 (far away).
func (c *canvas) shade(hue, lightness, distance int) string {
	if c.night {
		lightness /= 2
	}
	return hsl(hue, 50-distance/3, lightness+distance/4)
}

// scenes contains a drawing for each theme.
var scenes = map[string]func(c *canvas){
	"beach": func(c *canvas) {
		c.rect(0, 430, side, side, c.shade(197, 50, 40))
		c.ridge(500, 8, 3, c.shade(195, 58, 20))
		c.ridge(600, 16, 1.5, c.shade(42, 78, 10))
		x := 180 + c.IntN(400)
		c.draw(`<path d="M%d 760 L%d 520" stroke="%s" stroke-width="10"/>`, x, x+30, c.shade(30, 30, 0))
		c.draw(`<path d="M%d 560 A150 130 0 0 1 %d 590 Z" fill="%s"/>`, x-120, x+170, hsl(c.IntN(360), 75, 60))
	},
	"hiking": func(c *canvas) {
		for i := range 3 {
			c.peaks(340+i*90, 260-i*40, c.shade(c.hue+200, 34+4*(3-i), 90-30*i))
		}
		c.ridge(640, 24, 1, c.shade(105, 36, 0))
		for range 14 {
			x, y := c.IntN(side), 640+c.IntN(140)
			c.draw(`<path fill="%s" d="M%d %d l34 90 h-68Z"/>`, c.shade(140, 24+c.IntN(10), 0), x, y-60)
		}
	},
	"city": func(c *canvas) {
		for row := range 3 {
			fill := c.shade(225, 20+10*(2-row), 60-20*row)
			for x := -20; x < side; {
				width, height := 60+c.IntN(70), 180+c.IntN(260)-row*40
				top := side - height - (2-row)*70
				c.rect(x, top, width, side, fill)
				for y := top + 20; row == 2 && y < side-30; y += 38 {
					for at := x + 12; at < x+width-16; at += 26 {
						if c.chance(55) {
							c.rect(at, y, 12, 18, hsl(48, 90, 72))
						}
					}
				}
				x += width + c.IntN(14)
			}
		}
	},
	"running": func(c *canvas) {
		c.ridge(420, 26, 1.3, c.shade(120, 46, 60))
		c.ridge(480, 12, 1, c.shade(110, 40, 30))
		c.draw(`<path fill="%s" d="M360 480 L430 480 L%d %d L%d %dZ"/>`, c.shade(14, 52, 0), 760, side, 40, side)
		for i := range 3 {
			c.draw(`<path stroke="#fff" stroke-width="%d" opacity=".8" d="M%d 480 L%d %d"/>`, 4, 377+i*18, 220+i*180, side)
		}
		c.runner(330+c.IntN(120), 470, hsl(c.IntN(360), 75, 50))
	},
	"concert": func(c *canvas) {
		c.rect(0, 0, side, side, hsl(c.IntN(360), 45, 12))
		for range 6 {
			x, hue := 60+c.IntN(680), c.IntN(360)
			c.draw(`<path fill="%s" opacity=".45" d="M%d 0 l%d 640 h%d Z"/>`, hsl(hue, 90, 65), x, -160+c.IntN(200), 150+c.IntN(120))
		}
		c.rect(0, 560, side, 60, hsl(260, 30, 20))
		c.circle(400, 440, 34, "#0b0b12")
		c.draw(`<path fill="#0b0b12" d="M360 480 h80 l20 130 h-120Z"/><path stroke="#0b0b12" stroke-width="14" d="M330 590 L500 480"/>`)
		for x := 10; x < side; x += 62 {
			y := 680 + c.IntN(50)
			c.circle(x, y, 34, "#07070c")
			c.rect(x-40, y+24, 80, 200, "#07070c")
			if c.chance(40) {
				c.draw(`<path stroke="#07070c" stroke-width="18" stroke-linecap="round" d="M%d %d l%d -110"/>`, x+28, y+40, 10+c.IntN(20))
			}
		}
	},
	"coffee": func(c *canvas) {
		c.rect(0, 0, side, side, hsl(24+c.IntN(16), 38, 70))
		for y := 0; y < side; y += 160 {
			c.rect(0, y, side, 6, hsl(26, 35, 58))
		}
		x, y, cup := 360+c.IntN(80), 380+c.IntN(60), hsl(c.IntN(360), 30, 94)
		c.draw(`<ellipse cx="%d" cy="%d" rx="300" ry="296" fill="#0002"/>`, x+14, y+24)
		c.circle(x, y, 285, cup)
		c.circle(x, y, 200, hsl(30, 15, 86))
		c.draw(`<rect x="%d" y="%d" width="130" height="50" rx="25" fill="%s"/>`, x+170, y-25, hsl(30, 15, 86))
		c.circle(x, y, 178, hsl(24, 55, 30))
		c.circle(x, y, 160, hsl(27, 50, 48))
		for i := range 4 {
			c.draw(`<path fill="%s" d="M%d %d c-%d -70 -%d 30 0 90 c%[4]d -60 %[5]d -160 0 -90Z"/>`, hsl(36, 70, 84-3*i), x, y-90+i*38, 120-22*i, 110-20*i)
		}
	},
	"streetfood": func(c *canvas) {
		c.rect(0, 0, side, side, hsl(c.IntN(360), 40, 38))
		for x := 0; x < side; x += 100 {
			c.circle(x+50, 90+c.IntN(40), 26, hsl(8+c.IntN(40), 90, 62))
		}
		c.draw(`<ellipse cx="400" cy="700" rx="330" ry="50" fill="#0004"/>`)
		c.draw(`<path fill="%s" d="M110 430 h580 c0 200 -130 290 -290 290 s-290 -90 -290 -290Z"/>`, hsl(c.IntN(360), 65, 50))
		c.draw(`<ellipse cx="400" cy="430" rx="290" ry="90" fill="%s"/>`, hsl(30, 80, 62))
		for range 14 {
			x, y := 190+c.IntN(380), 390+c.IntN(70)
			c.draw(`<path fill="none" stroke="%s" stroke-width="12" d="M%d %d q60 -60 110 0 t90 10"/>`, hsl(44, 85, 74), x, y)
		}
		for range 7 {
			c.circle(200+c.IntN(400), 390+c.IntN(80), 20+c.IntN(20), hsl(pick(c.dice, []int{4, 96, 130, 350}), 65, 50))
		}
		c.draw(`<path stroke="%s" stroke-width="16" stroke-linecap="round" d="M430 420 L720 150 M470 440 L760 190"/>`, hsl(20, 55, 24))
	},
	"pets": func(c *canvas) {
		c.rect(0, 0, side, side, hsl(c.hue, 50, 80))
		coat, eyes := hsl(20+c.IntN(25), 45, 35+c.IntN(35)), 330+c.IntN(30)
		c.draw(`<ellipse cx="400" cy="820" rx="300" ry="280" fill="%s"/>`, coat)
		if c.chance(50) { // a cat
			c.draw(`<path fill="%[1]s" d="M210 330 L220 110 L370 220Z M590 330 L580 110 L430 220Z"/>`, coat)
		} else {
			c.draw(`<ellipse cx="205" cy="360" rx="75" ry="170" fill="%[1]s" transform="rotate(14 205 360)"/><ellipse cx="595" cy="360" rx="75" ry="170" fill="%[1]s" transform="rotate(-14 595 360)"/>`,
				hsl(22, 40, 28))
		}
		c.circle(400, 380, 215, coat)
		c.draw(`<ellipse cx="400" cy="470" rx="110" ry="85" fill="%s"/>`, hsl(36, 60, 90))
		for _, x := range []int{320, 480} {
			c.circle(x, eyes, 34, "#fff")
			c.circle(x, eyes+4, 22, "#1c1917")
			c.circle(x+8, eyes-6, 7, "#fff")
		}
		c.draw(`<path fill="#1c1917" d="M365 425 h70 l-35 38Z"/><path fill="none" stroke="#1c1917" stroke-width="8" stroke-linecap="round" d="M400 460 q-30 50 -65 20 M400 460 q30 50 65 20"/>`)
	},
}

// peaks draws a line of mountains.
func (c *canvas) peaks(y, height int, fill string) {
	c.draw(`<path fill="%s" d="M0 %d L0 %d`, fill, side, y)
	for x := 0; x < side; {
		x += 80 + c.IntN(90)
		c.draw(" L%d %d", x, y-c.IntN(height))
		x += 70 + c.IntN(90)
		c.draw(" L%d %d", x, y+c.IntN(60))
	}
	c.draw(` V%dZ"/>`, side)
}

// runner draws a person who runs.
func (c *canvas) runner(x, y int, shirt string) {
	c.circle(x+22, y-70, 30, hsl(25, 45, 35+c.IntN(35)))
	c.draw(`<g stroke-linecap="round" fill="none" stroke-width="26"><path stroke="%s" stroke-width="52" d="M%d %d l-18 100"/>`, shirt, x+14, y-10)
	c.draw(`<path stroke="%s" d="M%d %d l62 44 l44 -40 M%d %d l-66 30 l-20 56"/>`, hsl(25, 40, 45), x+14, y, x+4, y)
	c.draw(`<path stroke="#1f2937" d="M%d %d l60 60 l-14 92 M%d %d l-44 84 l-80 20"/></g>`, x, y+100, x, y+100)
}

func (c *canvas) svg() []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" width="%[1]d" height="%[1]d">%[2]s</svg>`, side, c.shapes.String())
}
