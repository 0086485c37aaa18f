package report

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// graph is one plot: bars on a logarithmic axis, a group for each workload and a colour for each subject.
type graph struct {
	name, title, axis string
	groups            []group
	of                Metric
}

// group is the bars of one workload, by the names of its series.
type group struct{ label, workload string }

var plots = []graph{
	{"pages", "Processor time of the server for a page of 50 items", "µs", []group{
		{"hot", HotPages}, {"gzip", ZippedPages}, {"304", HeldPages}, {"Zipf", ZipfPages}, {"uniform", UniformPages},
	}, func(r Round) float64 { return 1000 * CPUPerRequest(r) }},
	{"latency", "Median latency of a free query, one client", "ms", []group{
		{"boolean, newest first", Booleans}, {"asked again", BooleansKept}, {"ranked full text", Ranked}, {"asked again", RankedKept},
	}, P50},
	{"writes", "Items written per second, durable", "items/s", []group{
		{"bulk import", Imports}, {"64 single posts", Posts},
	}, PerSecond},
}

// subjects are drawn in this order and these colours.
var subjects = []struct {
	name  string
	paint color.RGBA
}{
	{Vitrine, color.RGBA{R: 0x1f, G: 0x6f, B: 0xb4, A: 0xff}},
	{Bare, color.RGBA{R: 0x9a, G: 0x9a, B: 0x9a, A: 0xff}},
	{OpenSearch, color.RGBA{R: 0xe0, G: 0x7b, B: 0x2a, A: 0xff}},
	{Bleve, color.RGBA{R: 0x5b, G: 0xa3, B: 0x55, A: 0xff}},
}

func (g graph) file(r *Run) string { return r.Scale + "-" + g.name + ".svg" }

// has reports whether there is anything to draw.
func (g graph) has(r *Run) bool {
	for _, at := range g.groups {
		if r.Workload(at.workload) != nil {
			return true
		}
	}
	return false
}

// drawAll writes the plots of a run into a directory.
func drawAll(dir string, r *Run) error {
	for _, g := range plots {
		if !g.has(r) {
			continue
		}
		svg, err := g.draw(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, g.file(r)), svg, 0o644)
		}
		if err != nil {
			return fmt.Errorf("draw %s: %w", g.name, err)
		}
	}
	return nil
}

func (g graph) draw(r *Run) ([]byte, error) {
	p := plot.New()
	p.Title.Text = g.title
	p.Y.Label.Text = g.axis
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	const width = vg.Length(22)
	var bars []*columns
	lowest, highest := 0.0, 0.0
	for _, s := range subjects {
		values := make(plotter.Values, 0, len(g.groups))
		there := false
		for _, at := range g.groups {
			m := r.Workload(at.workload).Find(s.name).Median(g.of)
			values = append(values, m.Value)
			there = there || m.Known
			if m.Known && m.Value > 0 {
				if lowest == 0 || m.Value < lowest {
					lowest = m.Value
				}
				highest = max(highest, m.Value)
			}
		}
		if !there {
			continue
		}
		bars = append(bars, &columns{values: values, width: width, paint: s.paint})
		p.Legend.Add(s.name, swatch{s.paint})
	}
	for i, c := range bars {
		// Each group is centred over its label.
		c.offset = (vg.Length(i) - vg.Length(len(bars)-1)/2) * width
		p.Add(c)
	}
	labels := make([]string, len(g.groups))
	for i, at := range g.groups {
		labels[i] = at.label
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max = -0.5, float64(len(labels))-0.3 // the legend stands at the right
	p.Y.Min, p.Y.Max = lowest/2, highest*4
	canvas := vgsvg.New(640, 300)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	// What the library leaves at the ends of lines only makes diffs longer.
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// columns are bars that begin at the lower end of a logarithmic axis, with their values above them. Values of 0 are left
// out.
type columns struct {
	values        plotter.Values
	width, offset vg.Length
	paint         color.Color
}

// Plot implements plot.Plotter.
func (c *columns) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	style := p.X.Tick.Label
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	style.Font.Size = 7
	for i, v := range c.values {
		if v <= 0 {
			continue
		}
		left := x(float64(i)) + c.offset - c.width/2
		canvas.FillPolygon(c.paint, []vg.Point{
			{X: left, Y: canvas.Min.Y}, {X: left, Y: y(v)}, {X: left + c.width - 2, Y: y(v)}, {X: left + c.width - 2, Y: canvas.Min.Y},
		})
		canvas.FillText(style, vg.Point{X: left + c.width/2, Y: y(v) + 1}, significant(v))
	}
}

// decades marks the powers of ten by plain numbers.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = strconv.FormatFloat(t.Value, 'f', -1, 64)
		}
	}
	return ticks
}

// swatch is a colour in the legend.
type swatch struct{ paint color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.paint, []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Min.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Min.Y}})
}
