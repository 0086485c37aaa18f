import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.Year;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleDocValuesField;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.FieldInfo;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.MultiDocValues;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.StoredFieldVisitor;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.IndexSortSortedNumericDocValuesRangeQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopFieldCollectorManager;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.QueryBuilder;

/**
 * Serves a Lucene index over standard input and output. Usage: Anchor DIR FIELDS, where FIELDS is a JSON array, see anchor.Field. Each line
 * of the input is a JSON-RPC call, and each line of the output is a response. The index stores the whole items. It is sorted by date,
 * newest first, so that the first page of a query sorted by date consists of the first documents that match.
 */
public final class Anchor {
    private static final JsonFactory JSON = new JsonFactory();
    private static final String CREATED = "created_on", ID = "id", SOURCE = "source";
    /** The field with the values of all fields that words without a field name search. */
    private static final String ALL = "_all";
    /** The prefix of the members that contain the reference on a platform. All of them are indexed as one field. */
    private static final String REFERENCE = "content.platform_ref:";
    private static final Sort NEWEST_FIRST =
        new Sort(new SortField(CREATED, SortField.Type.LONG, true), new SortField(ID, SortField.Type.LONG, true));
    /** The number of threads of an import. It equals anchor.Writers. */
    private static final int THREADS = 2;

    private final Analyzer analyzer = new StandardAnalyzer();
    private final BM25Similarity similarity = new BM25Similarity(1.2f, 0.75f);
    private final ByteArrayOutputStream page = new ByteArrayOutputStream(1 << 20);
    /** The fields of the index, by name. */
    private final Map<String, Indexed> fields = new HashMap<>();
    /** The objects that contain the fields. Other objects are skipped. */
    private final Set<String> objects = new HashSet<>();
    private final IndexWriter writer;
    /** The index as one segment; null until the first search. */
    private IndexSearcher searcher;

    /** A field of the index: the type of its values (see query.Type), and whether ALL has them too. */
    private record Indexed(String type, boolean all) { }

    private Anchor(Path dir, List<?> list) throws IOException {
        for (Object each : list) {
            Map<?, ?> field = (Map<?, ?>) each;
            String name = (String) field.get("Name");
            fields.put(name, new Indexed((String) field.get("Type"), (Boolean) field.get("All")));
            for (int dot; (dot = name.lastIndexOf('.')) >= 0; ) {
                name = name.substring(0, dot);
                objects.add(name);
            }
        }
        writer = new IndexWriter(
            FSDirectory.open(dir),
            new IndexWriterConfig(analyzer).setSimilarity(similarity).setIndexSort(NEWEST_FIRST).setRAMBufferSizeMB(256));
    }

    public static void main(String[] args) throws Exception {
        Anchor anchor = new Anchor(Path.of(args[0]), (List<?>) parse(args[1]));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            Map<?, ?> call = (Map<?, ?>) parse(line);
            Map<?, ?> command = (Map<?, ?>) ((List<?>) call.get("params")).get(0);
            String method = (String) call.get("method");
            String result = method.endsWith(".Import") ? anchor.importItems(command) : anchor.search(command);
            System.out.println("{\"id\":" + call.get("id") + ",\"error\":null,\"result\":" + result + "}");
        }
        anchor.writer.close();
    }

    /**
     * Indexes the lines of a file, and commits after each batch of items. The measured time ends when the items are durable, and a new
     * searcher would find them.
     */
    private String importItems(Map<?, ?> command) throws Exception {
        List<byte[]> lines = lines(Files.readAllBytes(Path.of((String) command.get("File"))));
        int batch = ((Long) command.get("Batch")).intValue();
        long began = System.nanoTime();
        AtomicInteger next = new AtomicInteger();
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                all.add(threads.submit(() -> {
                    for (int from; (from = next.getAndAdd(batch)) < lines.size(); ) {
                        for (byte[] line : lines.subList(from, Math.min(from + batch, lines.size()))) {
                            writer.addDocument(document(line));
                        }
                        writer.commit();
                    }
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get();
            }
        }
        return "{\"Elapsed\":" + (System.nanoTime() - began) + "}";
    }

    private static List<byte[]> lines(byte[] text) {
        List<byte[]> lines = new ArrayList<>();
        int start = 0;
        for (int i = 0; i < text.length; i++) {
            if (text[i] == '\n') {
                lines.add(Arrays.copyOfRange(text, start, i));
                start = i + 1;
            }
        }
        return lines;
    }

    private Document document(byte[] line) throws IOException {
        Document d = new Document();
        try (JsonParser p = JSON.createParser(line)) {
            p.nextToken();
            add(d, p, "");
        }
        d.add(new StoredField(SOURCE, line));
        return d;
    }

    /** Adds the fields of the value at the position of the parser, which is below path. */
    private void add(Document d, JsonParser p, String path) throws IOException {
        switch (p.currentToken()) {
            case START_OBJECT -> {
                if (!path.isEmpty() && !objects.contains(path)) {
                    p.skipChildren();
                    return;
                }
                while (p.nextToken() != JsonToken.END_OBJECT) {
                    String name = path.isEmpty() ? p.currentName() : path + "." + p.currentName();
                    p.nextToken();
                    add(d, p, name.startsWith(REFERENCE) ? REFERENCE.substring(0, REFERENCE.length() - 1) : name);
                }
            }
            case START_ARRAY -> {
                while (p.nextToken() != JsonToken.END_ARRAY) {
                    add(d, p, path);
                }
            }
            case VALUE_NULL -> { }
            default -> {
                Indexed field = fields.get(path);
                if (field != null) {
                    add(d, p, path, field);
                }
            }
        }
    }

    private static void add(Document d, JsonParser p, String name, Indexed field) throws IOException {
        switch (field.type) {
            case "keyword" -> d.add(new StringField(name, p.getText().toLowerCase(Locale.ROOT), Field.Store.NO));
            case "text" -> d.add(new TextField(name, p.getText(), Field.Store.NO));
            case "boolean" -> d.add(new StringField(name, p.getText(), Field.Store.NO));
            case "double" -> {
                d.add(new DoublePoint(name, p.getDoubleValue()));
                d.add(new DoubleDocValuesField(name, p.getDoubleValue()));
            }
            default -> {
                long value = field.type.equals("date") ? millis(p.getText()) : p.getLongValue();
                d.add(new LongPoint(name, value));
                d.add(new NumericDocValuesField(name, value));
            }
        }
        if (field.all) {
            d.add(new TextField(ALL, p.getText(), Field.Store.NO));
        }
    }

    /** Returns a date, which may be only a year, in milliseconds. */
    private static long millis(String date) {
        boolean year = date.length() == 4;
        return (year ? Year.parse(date).atDay(1).atStartOfDay().toInstant(ZoneOffset.UTC) : Instant.parse(date)).toEpochMilli();
    }

    /**
     * Runs queries one after the other. The measured time of a query begins when its Lucene query has been built. It ends when the items of
     * the page are in a buffer, or when the total is known.
     */
    private String search(Map<?, ?> command) throws IOException {
        if (searcher == null) {
            writer.forceMerge(1);
            writer.commit();
            searcher = new IndexSearcher(DirectoryReader.open(writer));
            searcher.setSimilarity(similarity);
        }
        boolean onePass = Boolean.TRUE.equals(command.get("OnePass"));
        StringBuilder latencies = new StringBuilder(), totals = new StringBuilder(), ids = new StringBuilder();
        for (Object each : (List<?>) command.get("Queries")) {
            Map<?, ?> asked = (Map<?, ?>) each;
            Query query = query((Map<?, ?>) asked.get("Tree"));
            int limit = ((Long) asked.get("Limit")).intValue();
            boolean newestFirst = (Boolean) asked.get("NewestFirst");
            page.reset();
            long began = System.nanoTime();
            ScoreDoc[] hits = {};
            long total;
            if (limit > 0 && onePass) {
                TopDocs top = top(query, limit, newestFirst, Integer.MAX_VALUE);
                hits = top.scoreDocs;
                total = top.totalHits.value();
            } else {
                if (limit > 0) {
                    hits = top(query, limit, newestFirst, limit).scoreDocs;
                }
                total = searcher.count(query);
            }
            StoredFields stored = searcher.storedFields();
            for (ScoreDoc hit : hits) {
                stored.document(hit.doc, new Source());
            }
            append(latencies, System.nanoTime() - began);
            append(totals, total);
            StringBuilder list = new StringBuilder();
            for (ScoreDoc hit : hits) {
                NumericDocValues values = MultiDocValues.getNumericValues(searcher.getIndexReader(), ID);
                values.advanceExact(hit.doc);
                append(list, values.longValue());
            }
            ids.append(ids.isEmpty() ? "[" : ",[").append(list).append("]");
        }
        return "{\"Latencies\":[" + latencies + "],\"Totals\":[" + totals + "],\"IDs\":[" + ids + "]}";
    }

    private static void append(StringBuilder list, long value) {
        list.append(list.isEmpty() ? "" : ",").append(value);
    }

    /** Returns the first hits. After exactUpTo hits, Lucene may stop counting, and may skip hits that cannot be among the first. */
    private TopDocs top(Query query, int limit, boolean newestFirst, int exactUpTo) throws IOException {
        return newestFirst
            ? searcher.search(query, new TopFieldCollectorManager(NEWEST_FIRST, limit, null, exactUpTo))
            : searcher.search(query, new TopScoreDocCollectorManager(limit, null, exactUpTo));
    }

    /** Copies the source of a document into the buffer. */
    private final class Source extends StoredFieldVisitor {
        @Override
        public Status needsField(FieldInfo field) {
            return field.name.equals(SOURCE) ? Status.YES : Status.NO;
        }

        @Override
        public void binaryField(FieldInfo field, byte[] value) {
            page.writeBytes(value);
        }
    }

    /** Returns the Lucene query of a tree, see anchor.Tree. */
    private Query query(Map<?, ?> tree) {
        String field = (String) tree.get("Field"), text = (String) tree.get("Text");
        return switch ((String) tree.get("Kind")) {
            case "bool" -> {
                BooleanQuery.Builder group = new BooleanQuery.Builder();
                add(group, tree.get("Must"), Occur.MUST);
                add(group, tree.get("Should"), Occur.SHOULD);
                add(group, tree.get("Not"), Occur.MUST_NOT);
                yield group.build();
            }
            case "keyword" -> new TermQuery(new Term(field, text));
            case "words" -> new QueryBuilder(analyzer).createBooleanQuery(field, text);
            case "phrase" -> new QueryBuilder(analyzer).createPhraseQuery(field, text);
            case "prefix" -> new PrefixQuery(new Term(field, text));
            case "fuzzy" -> new FuzzyQuery(new Term(field, text), ((Long) tree.get("Edits")).intValue());
            case "range" -> {
                long from = (Long) tree.get("From"), to = (Long) tree.get("To");
                Query points = LongPoint.newRangeQuery(field, from, to);
                yield field.equals(CREATED) ? new IndexSortSortedNumericDocValuesRangeQuery(field, from, to, points) : points;
            }
            default -> throw new IllegalArgumentException("no query of the kind " + tree.get("Kind"));
        };
    }

    private void add(BooleanQuery.Builder group, Object trees, Occur occur) {
        if (trees != null) {
            for (Object each : (List<?>) trees) {
                group.add(query((Map<?, ?>) each), occur);
            }
        }
    }

    private static Object parse(String text) throws IOException {
        try (JsonParser p = JSON.createParser(text)) {
            p.nextToken();
            return value(p);
        }
    }

    /** Returns the value at the position of the parser: a map, a list, a string, a long, a boolean or null. */
    private static Object value(JsonParser p) throws IOException {
        switch (p.currentToken()) {
            case START_OBJECT -> {
                Map<String, Object> members = new HashMap<>();
                while (p.nextToken() != JsonToken.END_OBJECT) {
                    String name = p.currentName();
                    p.nextToken();
                    members.put(name, value(p));
                }
                return members;
            }
            case START_ARRAY -> {
                List<Object> values = new ArrayList<>();
                while (p.nextToken() != JsonToken.END_ARRAY) {
                    values.add(value(p));
                }
                return values;
            }
            case VALUE_NUMBER_INT -> {
                return p.getLongValue();
            }
            case VALUE_TRUE, VALUE_FALSE -> {
                return p.getBooleanValue();
            }
            case VALUE_NULL -> {
                return null;
            }
            default -> {
                return p.getText();
            }
        }
    }
}
