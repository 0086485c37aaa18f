import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.TreeSet;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.automaton.Automaton;
import org.apache.lucene.util.automaton.Operations;
import org.apache.lucene.util.automaton.RegExp;
import org.apache.lucene.util.automaton.TooComplexToDeterminizeException;
import org.apache.lucene.util.automaton.UTF32ToUTF8;

/**
 * Compares regular expressions in the syntax of Lucene with automata that Vitrine has computed. The standard input contains the pairs, see
 * judge.ask in lucene_test.go. For each pair that differs, the output has a line with the number of the pair and the reason. The last line
 * contains the number of pairs, and of those that Lucene refuses as too complex.
 */
public final class Judge {
    /** The limit that Vitrine sends with each regular expression. */
    private static final int WORK = 100_000;

    /** An automaton of Vitrine. It accepts the prefix followed by what the states accept. State 0 is the first. */
    private record Expected(byte[] prefix, boolean[] accept, int[][] ranges, TreeSet<Integer> points) {
        /** Returns the state after a byte, or -1. The states of the prefix follow those of the automaton. */
        int step(int state, int b) {
            if (state >= accept.length) {
                int at = state - accept.length;
                if (b != (prefix[at] & 0xFF)) return -1;
                return at + 1 < prefix.length ? state + 1 : accept.length == 0 ? -1 : 0;
            }
            int[] r = ranges[state];
            for (int i = 0; i < r.length; i += 3) {
                if (b >= r[i] && b <= r[i + 1]) return r[i + 2];
            }
            return -1;
        }

        int start() {
            return prefix.length > 0 ? accept.length : accept.length == 0 ? -1 : 0;
        }

        boolean accepts(int state) {
            return state >= 0 && state < accept.length && accept[state];
        }
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
        long pairs = 0, complex = 0;
        for (; ; pairs++) {
            int length = in.readInt();
            if (length < 0) break;
            String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
            Expected expected = read(in);
            try {
                String reason = compare(text, expected);
                if (reason != null) System.out.println(pairs + " " + reason);
            } catch (TooComplexToDeterminizeException e) {
                complex++;
            } catch (IllegalArgumentException e) {
                System.out.println(pairs + " refused: " + e.getMessage().replace('\n', ' '));
            }
        }
        System.out.println("done " + pairs + " " + complex);
    }

    private static Expected read(DataInputStream in) throws IOException {
        byte[] prefix = in.readNBytes(in.readInt());
        int states = in.readInt();
        boolean[] accept = new boolean[states];
        int[][] ranges = new int[states][];
        TreeSet<Integer> points = new TreeSet<>();
        for (byte b : prefix) {
            points.add(b & 0xFF);
            points.add((b & 0xFF) + 1);
        }
        for (int s = 0; s < states; s++) {
            accept[s] = in.readByte() != 0;
            ranges[s] = new int[3 * in.readInt()];
            for (int i = 0; i < ranges[s].length; i += 3) {
                ranges[s][i] = in.readUnsignedByte();
                ranges[s][i + 1] = in.readUnsignedByte();
                ranges[s][i + 2] = in.readInt();
                points.add(ranges[s][i]);
                points.add(ranges[s][i + 1] + 1);
            }
        }
        return new Expected(prefix, accept, ranges, points);
    }

    /** Returns the difference between a regular expression and an automaton, or null. */
    private static String compare(String text, Expected expected) throws Exception {
        RegExp all = new RegExp(text, RegExp.ALL), some = new RegExp(text, RegExp.INTERSECTION);
        String reason = compare(all, expected);
        if (reason == null && !all.toString().equals(some.toString())) {
            reason = compare(some, expected);
        }
        return reason;
    }

    private static final Method LIMITED = limited();

    private static Method limited() {
        try {
            return RegExp.class.getMethod("toAutomaton", int.class); // before Lucene 10
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private static Automaton automaton(RegExp expression) throws Exception {
        if (LIMITED == null) return expression.toAutomaton();
        try {
            return (Automaton) LIMITED.invoke(expression, WORK);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    private static String compare(RegExp expression, Expected expected) throws Exception {
        Automaton lucene = Operations.determinize(automaton(expression), WORK);
        lucene = Operations.removeDeadStates(Operations.determinize(new UTF32ToUTF8().convert(lucene), Integer.MAX_VALUE));
        if (lucene.getNumStates() > 0 && expected.prefix.length > 0) {
            BytesRef common = Operations.getCommonPrefixBytesRef(lucene);
            byte[] begin = Arrays.copyOfRange(common.bytes, common.offset, common.offset + Math.min(common.length, expected.prefix.length));
            if (!Arrays.equals(begin, expected.prefix)) {
                return "escape: accepts strings without the prefix";
            }
        }
        TreeSet<Integer> all = new TreeSet<>(expected.points);
        for (int point : lucene.getStartPoints()) all.add(point);
        all.addAll(List.of(0, (int) 'A', 'Z' + 1, 0x80, 0x90, 0xA0, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4, 0xF5));
        int[] points = all.stream().filter(p -> p < 256).mapToInt(Integer::intValue).toArray();
        record At(int lucene, int expected, int valid) {}
        At start = new At(lucene.getNumStates() == 0 ? -1 : 0, expected.start(), 0);
        HashSet<At> seen = new HashSet<>();
        ArrayDeque<At> work = new ArrayDeque<>();
        seen.add(start);
        work.add(start);
        while (!work.isEmpty()) {
            At at = work.remove();
            if (at.valid == 0 && (at.lucene >= 0 && lucene.isAccept(at.lucene)) != expected.accepts(at.expected)) {
                return "differs: " + (expected.accepts(at.expected) ? "Lucene does not accept" : "Lucene accepts") + " a string";
            }
            for (int b : points) {
                int valid = valid(at.valid, b);
                if (valid < 0) continue;
                At next = new At(at.lucene < 0 ? -1 : lucene.step(at.lucene, b), at.expected < 0 ? -1 : expected.step(at.expected, b), valid);
                if ((next.lucene >= 0 || next.expected >= 0) && seen.add(next)) work.add(next);
            }
        }
        return null;
    }

    /**
     * Returns the state after a byte of UTF-8 without surrogates and without upper-case letters of ASCII, or -1. Terms contain no upper-case
     * letters, and the patterns of the test do not distinguish others. State 0 is between two characters.
     */
    private static int valid(int state, int b) {
        switch (state) {
            case 0:
                if (b < 0x80) return b >= 'A' && b <= 'Z' ? -1 : 0;
                if (b < 0xC2 || b > 0xF4) return -1;
                if (b < 0xE0) return 1;
                if (b == 0xE0) return 4;
                if (b == 0xED) return 5;
                if (b < 0xF0) return 2;
                return b == 0xF0 ? 6 : b == 0xF4 ? 7 : 3;
            case 4:
                return b >= 0xA0 && b <= 0xBF ? 1 : -1;
            case 5:
                return b >= 0x80 && b <= 0x9F ? 1 : -1;
            case 6:
                return b >= 0x90 && b <= 0xBF ? 2 : -1;
            case 7:
                return b >= 0x80 && b <= 0x8F ? 2 : -1;
            default:
                return b >= 0x80 && b <= 0xBF ? state - 1 : -1;
        }
    }

    private Judge() {}
}
