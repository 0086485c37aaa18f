// Package recipe reads a Dockerfile that puts files into an image made from nothing, so that the image can be made without
// an engine too, from the same description. It knows the instructions that such a file needs, and refuses every other one.
//
// It imports nothing but the standard library.
package recipe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Recipe is what a Dockerfile says.
type Recipe struct {
	// Copies are the COPY instructions, in order; each makes a layer.
	Copies []Copy
	// Config is the configuration of the image.
	Config Config
}

// Copy puts what lies at From in the build context at To in the image: a file, or what a folder holds.
type Copy struct {
	From, To string
	UID, GID int
	// Line is the instruction, for the history of the image.
	Line string
}

// Config is the configuration of an image, as the OCI image specification has it.
type Config struct {
	User         string              `json:"User,omitempty"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
	Env          []string            `json:"Env,omitempty"`
	Entrypoint   []string            `json:"Entrypoint,omitempty"`
	Cmd          []string            `json:"Cmd,omitempty"`
	Volumes      map[string]struct{} `json:"Volumes,omitempty"`
	WorkingDir   string              `json:"WorkingDir,omitempty"`
	Labels       map[string]string   `json:"Labels,omitempty"`
}

// Read reads a Dockerfile with the given build arguments. A variable is written ${NAME} and has to be declared by ARG; one
// that is declared and not given is empty, or what its ARG says after "=".
func Read(file io.Reader, args map[string]string) (*Recipe, error) {
	r := &reader{recipe: &Recipe{}, given: args, known: map[string]string{}}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.instruction(line); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", n, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the Dockerfile: %w", err)
	}
	if !r.begun {
		return nil, errors.New("the Dockerfile has no FROM")
	}
	return r.recipe, nil
}

type reader struct {
	recipe *Recipe
	given  map[string]string
	known  map[string]string
	begun  bool
}

func (r *reader) instruction(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if !r.begun && name != "FROM" {
		return errors.New("want FROM scratch first")
	}
	if name == "ARG" {
		variable, value, _ := strings.Cut(rest, "=")
		if given, ok := r.given[variable]; ok {
			value = given
		}
		r.known[variable] = value
		return nil
	}
	var unknown []string
	rest = os.Expand(rest, func(variable string) string {
		if _, ok := r.known[variable]; !ok {
			unknown = append(unknown, variable)
		}
		return r.known[variable]
	})
	if len(unknown) > 0 {
		return fmt.Errorf("no ARG declares %s", strings.Join(unknown, ", "))
	}
	c := &r.recipe.Config
	switch name {
	case "FROM":
		if rest != "scratch" || r.begun {
			return errors.New("want one FROM, of scratch")
		}
		r.begun = true
	case "COPY":
		return r.copy(rest)
	case "USER":
		c.User = rest
	case "WORKDIR":
		c.WorkingDir = rest
	case "ENV":
		if _, _, found := strings.Cut(rest, "="); !found {
			return errors.New("want NAME=value")
		}
		c.Env = append(c.Env, rest)
	case "EXPOSE":
		for port := range strings.FieldsSeq(rest) {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return fmt.Errorf("port %q: %w", port, err)
			}
			c.ExposedPorts = with(c.ExposedPorts, port+"/tcp", struct{}{})
		}
	case "VOLUME":
		c.Volumes = with(c.Volumes, rest, struct{}{})
	case "LABEL":
		label, value, found := strings.Cut(rest, "=")
		if !found {
			return errors.New("want label=value")
		}
		c.Labels = with(c.Labels, label, strings.Trim(value, `"`))
	case "ENTRYPOINT":
		return words(rest, &c.Entrypoint)
	case "CMD":
		return words(rest, &c.Cmd)
	default:
		return fmt.Errorf("%s is not known here: only files are put into this image", name)
	}
	return nil
}

func (r *reader) copy(rest string) error {
	made := Copy{Line: "COPY " + rest}
	fields := strings.Fields(rest)
	if owner, found := strings.CutPrefix(fields[0], "--chown="); found {
		fields = fields[1:]
		if n, err := fmt.Sscanf(owner, "%d:%d", &made.UID, &made.GID); n != 2 || err != nil {
			return fmt.Errorf("owner %q: want two numbers, as there is no /etc/passwd yet: %w", owner, err)
		}
	}
	if len(fields) != 2 || strings.HasPrefix(fields[0], "-") {
		return errors.New("want COPY [--chown=UID:GID] FROM TO")
	}
	made.From, made.To = fields[0], fields[1]
	if !strings.HasPrefix(made.To, "/") {
		return fmt.Errorf("to %q: want an absolute path", made.To)
	}
	r.recipe.Copies = append(r.recipe.Copies, made)
	return nil
}

// words reads the form with brackets: the other one needs a shell, and the image has none.
func words(text string, into *[]string) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf(`want ["word", …]: %w`, err)
	}
	return nil
}

func with[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		return map[string]V{key: value}
	}
	m[key] = value
	return m
}
