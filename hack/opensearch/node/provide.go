package node

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// mavenCentral is the base URL of the jars.
const mavenCentral = "https://repo1.maven.org/maven2/"

// files contains the list of jars of each version, with their SHA-256, and the source of the launcher.
//
//go:embed jars-*.txt java
var files embed.FS

// launcher contains the paths of all files that are needed to start a version of OpenSearch.
type launcher struct {
	java    string
	release int
	// classPath begins with the compiled launcher.
	classPath []string
	logging   string
	// archive is the file in which Java caches loaded classes. With this cache, later starts take half the time.
	archive string
	// maven is the directory of the downloaded files.
	maven string
}

// Libraries returns the path of java, and the jars of a version of OpenSearch, which include Lucene. It downloads missing jars, and compiles
// the launcher, so that Start works without a network. It fails with *AbsentError if there is no JDK or the jars are not available.
func Libraries(ctx context.Context, version string) (java string, jars []string, err error) {
	l, err := provide(ctx, version)
	if err != nil {
		return "", nil, err
	}
	return l.java, l.classPath[1:], nil
}

// Lucene returns the path of java, and a jar of each version of Lucene whose regular expressions Vitrine must print for. It downloads
// missing jars. It fails with *AbsentError if there is no JDK 21 or the jars are not available.
func Lucene(ctx context.Context) (java string, jars []string, err error) {
	home, major := newestJDK(ctx)
	if major < 21 {
		return "", nil, &AbsentError{"Lucene 10 needs JDK 21 or newer: install a JDK, or set OPENSEARCH_JAVA to the directory of one"}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, &AbsentError{err.Error()}
	}
	jars, err = provideJars(ctx, "lucene", filepath.Join(cache, "vitrine", "opensearch", "maven"))
	return filepath.Join(home, "bin", "java"), jars, err
}

// provide finds a JDK, downloads missing jars of a version, and compiles the launcher.
func provide(ctx context.Context, version string) (*launcher, error) {
	release := 21
	if strings.HasPrefix(version, "2.") {
		release = 17
	}
	home, major := newestJDK(ctx)
	if major < release {
		return nil, &AbsentError{fmt.Sprintf("OpenSearch %s needs JDK %d or newer: install a JDK, or set OPENSEARCH_JAVA to the directory of one", version, release)}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, &AbsentError{err.Error()}
	}
	cache = filepath.Join(cache, "vitrine", "opensearch")
	jars, err := provideJars(ctx, version, filepath.Join(cache, "maven"))
	if err != nil {
		return nil, err
	}
	l := &launcher{java: filepath.Join(home, "bin", "java"), release: major, maven: filepath.Join(cache, "maven")}
	if l.classPath, l.logging, err = compile(ctx, home, release, version, filepath.Join(cache, version), jars); err != nil {
		return nil, err
	}
	l.archive = filepath.Join(cache, version, fmt.Sprintf("classes-%d.jsa", major))
	return l, nil
}

// arguments returns the arguments of java that precede the main class.
func (l *launcher) arguments(heap, temp string) []string {
	args := []string{
		"-Xms" + heap, "-Xmx" + heap, "-XX:+UseG1GC", "-Xss1m", "-Djava.io.tmpdir=" + temp, "-Dfile.encoding=UTF-8",
		"-Djava.awt.headless=true", "-Djna.nosys=true", "-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true",
		"-Dio.netty.recycler.maxCapacityPerThread=0", "-Dlog4j.shutdownHookEnabled=false",
		"-Dlog4j2.configurationFile=" + l.logging, "-Dopensearch.bundled_jdk=true",
	}
	if l.release >= 21 {
		args = append(args, "-Xlog:disable", "-XX:+AutoCreateSharedArchive", "-XX:SharedArchiveFile="+l.archive, "--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED")
	}
	return append(args, "-cp", strings.Join(l.classPath, string(os.PathListSeparator)))
}

var javaVersion = regexp.MustCompile(`(?m)^javac (\d+)`)

// newestJDK returns the directory and the version of a JDK: the JDK in OPENSEARCH_JAVA or, if this variable is not set, the newest JDK in
// JAVA_HOME, /usr/lib/jvm and the PATH.
func newestJDK(ctx context.Context) (home string, major int) {
	candidates := []string{os.Getenv("OPENSEARCH_JAVA")}
	if candidates[0] == "" {
		candidates, _ = filepath.Glob("/usr/lib/jvm/*")
		candidates = append(candidates, os.Getenv("JAVA_HOME"))
		if javac, err := exec.LookPath("javac"); err == nil {
			if javac, err = filepath.EvalSymlinks(javac); err == nil {
				candidates = append(candidates, filepath.Dir(filepath.Dir(javac)))
			}
		}
	}
	for _, c := range candidates {
		if c == "" {
			continue
		}
		output, err := exec.CommandContext(ctx, filepath.Join(c, "bin", "javac"), "-version").CombinedOutput()
		if err != nil {
			continue
		}
		if m := javaVersion.FindSubmatch(output); m != nil {
			if v, err := strconv.Atoi(string(m[1])); err == nil && v > major {
				home, major = c, v
			}
		}
	}
	return home, major
}

// provideJars returns the jars of a version (or of "lucene", see Lucene), and downloads missing jars.
func provideJars(ctx context.Context, version, dir string) ([]string, error) {
	list, err := files.Open("jars-" + version + ".txt")
	if err != nil {
		return nil, fmt.Errorf("provide OpenSearch %s: only the versions %s and %s are supported", version, Version3, Version2)
	}
	defer list.Close()
	var jars []string
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		sum, path, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			return nil, fmt.Errorf("provide OpenSearch %s: the list of jars has an invalid line: %q", version, lines.Text())
		}
		file := filepath.Join(dir, filepath.FromSlash(path))
		jars = append(jars, file)
		g.Go(func() error { return provideJar(ctx, file, path, sum) })
	}
	if err := g.Wait(); err != nil {
		return nil, &AbsentError{err.Error()}
	}
	return jars, nil
}

// provideJar downloads a jar unless it exists. An existing jar needs no check, because a download gets its name only after it is verified.
func provideJar(ctx context.Context, file, path, sum string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, mavenCentral+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("download %s: %w", path, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("download %s: %s", path, res.Status)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".download-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(temp, h), res.Body)
	if err = errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("download %s: %w", path, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("download %s: its SHA-256 is %s, want %s", path, got, sum)
	}
	return os.Rename(temp.Name(), file)
}

// launcherJar is the file name of the compiled launcher.
const launcherJar = "launcher.jar"

// compile compiles the launcher for a version unless it has been compiled before. It returns the class path and the logging configuration.
func compile(ctx context.Context, home string, release int, version, dir string, jars []string) ([]string, string, error) {
	sources := []string{"java/Main.java", "java/v" + version[:1] + "/ClassPathNode.java", "java/log4j2.properties"}
	h := sha256.New()
	texts := make([][]byte, len(sources))
	for i, name := range sources {
		var err error
		if texts[i], err = files.ReadFile(name); err != nil {
			return nil, "", fmt.Errorf("compile the launcher: %w", err)
		}
		_, _ = h.Write(texts[i])
	}
	launcher := filepath.Join(dir, "launcher-"+hex.EncodeToString(h.Sum(nil)[:8]))
	logging := filepath.Join(launcher, "log4j2.properties")
	// Pack the launcher into a jar, because Java cannot write the archive of loaded classes if the class path contains a directory.
	classPath := append([]string{filepath.Join(launcher, launcherJar)}, jars...)
	if _, err := os.Stat(launcher); err == nil {
		return classPath, logging, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("compile the launcher: %w", err)
	}
	temp, err := os.MkdirTemp(dir, ".launcher-*")
	if err != nil {
		return nil, "", fmt.Errorf("compile the launcher: %w", err)
	}
	defer os.RemoveAll(temp)
	args := []string{
		"--release", strconv.Itoa(release), "-nowarn", "-proc:none", "-d", filepath.Join(temp, "classes"), "-cp", strings.Join(jars, string(os.PathListSeparator)),
	}
	for i, name := range sources {
		file := filepath.Join(temp, filepath.Base(name))
		if err := os.WriteFile(file, texts[i], 0o600); err != nil {
			return nil, "", fmt.Errorf("compile the launcher: %w", err)
		}
		if strings.HasSuffix(name, ".java") {
			args = append(args, file)
		}
	}
	output, err := exec.CommandContext(ctx, filepath.Join(home, "bin", "javac"), args...).CombinedOutput()
	if err != nil {
		return nil, "", fmt.Errorf("compile the launcher: %w\n%s", err, output)
	}
	output, err = exec.CommandContext(ctx, filepath.Join(home, "bin", "jar"), "--create", "--file", filepath.Join(temp, launcherJar),
		"-C", filepath.Join(temp, "classes"), ".").CombinedOutput()
	if err != nil {
		return nil, "", fmt.Errorf("compile the launcher: %w\n%s", err, output)
	}
	if err := os.Rename(temp, launcher); err != nil {
		// The rename fails if another process has compiled the launcher in the meantime.
		if _, there := os.Stat(launcher); there != nil {
			return nil, "", fmt.Errorf("compile the launcher: %w", err)
		}
	}
	return classPath, logging, nil
}
