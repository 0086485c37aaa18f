//! Serves a Tantivy index over standard input and output. Usage: `anchor DIR FIELDS`, where FIELDS is a JSON array, see anchor.Field. Each
//! line of the input is a JSON-RPC call, and each line of the output is a response. The index stores the whole items. It is sorted by date,
//! newest first, so that the first page of a query sorted by date consists of the first documents that match.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead};
use std::ops::Bound;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde::{Deserialize, Serialize};
use serde_json_borrow::Value as Json;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{
    BooleanQuery, EmptyQuery, EnableScoring, FuzzyTermQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::time::format_description::well_known::Rfc3339;
use tantivy::time::{Date, OffsetDateTime};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use tantivy::{
    DocAddress, DocId, DocSet, Index, IndexSettings, IndexSortByField, IndexWriter, Order, ReloadPolicy, Searcher, TERMINATED,
    TantivyDocument, Term,
};
use unicode_segmentation::{UWordBoundIndices, UnicodeSegmentation};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The number of threads that parse the items of an import. As many threads of Tantivy index them. It equals anchor.Writers.
const THREADS: usize = 2;
/// The memory of all threads that index items, in bytes. Lucene has the same amount.
const MEMORY: usize = 256 << 20;
/// The name of the tokenizer of texts.
const WORDS: &str = "words";
/// The name of the field by which the index is sorted.
const ORDER: &str = "order";

fn main() -> Result<()> {
    let usage = "usage: anchor DIR FIELDS";
    let mut anchor = Anchor::new(&env::args().nth(1).ok_or(usage)?, &env::args().nth(2).ok_or(usage)?)?;
    for line in io::stdin().lock().lines() {
        let call: Call = serde_json::from_str(&line?)?;
        let [command] = call.params;
        let answer = if call.method.ends_with(".Import") { anchor.import(&command)? } else { anchor.search(&command)? };
        println!("{}", serde_json::json!({"id": call.id, "error": null, "result": answer}));
    }
    Ok(())
}

/// A JSON-RPC call.
#[derive(Deserialize)]
struct Call {
    id: u64,
    method: String,
    params: [Command; 1],
}

/// See anchor.Command.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Command {
    file: String,
    batch: usize,
    queries: Vec<Asked>,
    one_pass: bool,
}

/// See anchor.Query.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Asked {
    tree: Tree,
    limit: usize,
    newest_first: bool,
}

/// See anchor.Tree.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Tree {
    kind: Kind,
    field: String,
    text: String,
    edits: u8,
    from: i64,
    to: i64,
    must: Vec<Tree>,
    should: Vec<Tree>,
    not: Vec<Tree>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Bool,
    Keyword,
    Words,
    Phrase,
    Prefix,
    Fuzzy,
    Range,
}

/// See anchor.Answer. Times are in nanoseconds.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    elapsed: u64,
    latencies: Vec<u64>,
    totals: Vec<usize>,
    #[serde(rename = "IDs")]
    ids: Vec<Vec<u64>>,
}

fn nanoseconds(d: Duration) -> u64 {
    d.as_nanos() as u64
}

/// A field of items, see anchor.Field.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ItemField {
    name: String,
    #[serde(rename = "Type")]
    kind: Type,
    all: bool,
}

/// The type of the values of a field, see query.Type.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    Keyword,
    Text,
    Long,
    Double,
    Boolean,
    Date,
}

/// The fields of the index.
struct Fields {
    /// The fields of items, by name: the field, its type, and whether `all` has its values too.
    items: HashMap<String, (Field, Type, bool)>,
    /// The values of all fields that words without a field name search.
    all: Field,
    /// The date in seconds and, in the lower 32 bits, the id. Tantivy can sort an index by only one field. The dates of items have no
    /// fractions of a second.
    order: Field,
    source: Field,
}

/// The prefix of the members that contain the reference on a platform. All of them are indexed as one field.
const REFERENCE: &str = "content.platform_ref:";

impl Fields {
    fn new(list: &str) -> Result<(Fields, Schema)> {
        let mut b = Schema::builder();
        let indexing = |tokenizer, record| TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(record);
        let text = TextOptions::default().set_indexing_options(indexing(WORDS, IndexRecordOption::WithFreqsAndPositions));
        let keyword = TextOptions::default().set_indexing_options(indexing("raw", IndexRecordOption::Basic).set_fieldnorms(false));
        let mut items = HashMap::new();
        for f in serde_json::from_str::<Vec<ItemField>>(list)? {
            let field = match f.kind {
                Type::Keyword | Type::Boolean => b.add_text_field(&f.name, keyword.clone()),
                Type::Text => b.add_text_field(&f.name, text.clone()),
                Type::Long => b.add_i64_field(&f.name, INDEXED | FAST),
                Type::Double => b.add_f64_field(&f.name, INDEXED | FAST),
                Type::Date => b.add_i64_field(&f.name, FAST), // enough for ranges, which are all that the queries contain
            };
            items.insert(f.name, (field, f.kind, f.all));
        }
        let all = b.add_text_field("_all", text);
        let order = b.add_u64_field(ORDER, FAST);
        let source = b.add_bytes_field("source", STORED);
        Ok((Fields { items, all, order, source }, b.build()))
    }

    fn document(&self, line: &[u8]) -> Result<TantivyDocument> {
        let item: Json = serde_json::from_slice(line)?;
        let mut d = TantivyDocument::default();
        self.add(&mut d, &mut String::new(), &item)?;
        let created = seconds(item.get("created_on").as_str().unwrap_or_default())?;
        let id = item.get("id").as_u64().ok_or("an item has no id")?;
        d.add_u64(self.order, u64::try_from(created)? << 32 | id);
        d.add_bytes(self.source, line);
        Ok(d)
    }

    /// Adds the fields of the value below path. It leaves path as it was.
    fn add(&self, d: &mut TantivyDocument, path: &mut String, value: &Json) -> Result<()> {
        match value {
            Json::Object(members) => {
                let end = path.len();
                for (name, value) in members.iter() {
                    if end > 0 {
                        path.push('.');
                    }
                    path.push_str(name);
                    if path.starts_with(REFERENCE) {
                        path.truncate(REFERENCE.len() - 1);
                    }
                    self.add(d, path, value)?;
                    path.truncate(end);
                }
            }
            Json::Array(values) => {
                for value in values {
                    self.add(d, path, value)?;
                }
            }
            Json::Null => {}
            _ => {
                if let Some(&(field, kind, all)) = self.items.get(path.as_str()) {
                    let text = value.as_str();
                    match kind {
                        Type::Keyword => d.add_text(field, lower(text.unwrap_or_default())),
                        Type::Text => d.add_text(field, text.unwrap_or_default()),
                        Type::Boolean => d.add_text(field, if value.as_bool() == Some(true) { "true" } else { "false" }),
                        Type::Long => d.add_i64(field, value.as_i64().ok_or("a number is not an integer")?),
                        Type::Double => d.add_f64(field, value.as_f64().ok_or("a value is not a number")?),
                        Type::Date => d.add_i64(field, 1000 * seconds(text.unwrap_or_default())?),
                    }
                    if all {
                        d.add_text(self.all, text.unwrap_or_default());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns a date, which may be only a year, in seconds.
fn seconds(date: &str) -> Result<i64> {
    if date.len() == 4 {
        return Ok(Date::from_ordinal_date(date.parse()?, 1)?.midnight().assume_utc().unix_timestamp());
    }
    Ok(OffsetDateTime::parse(date, &Rfc3339)?.unix_timestamp())
}

/// Appends a text to another text, with each character converted to lower case separately.
fn push_lower(to: &mut String, text: &str) {
    if text.is_ascii() {
        let from = to.len();
        to.push_str(text);
        to[from..].make_ascii_lowercase();
    } else {
        to.extend(text.chars().flat_map(char::to_lowercase));
    }
}

fn lower(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    push_lower(&mut to, text);
    to
}

/// Splits texts into words by the rules of Unicode, as Lucene's StandardTokenizer and the engine do, and converts them to lower case.
/// Tantivy's own tokenizers split words at apostrophes, and do not split ideographs.
#[derive(Clone)]
struct Words;

struct WordStream<'a> {
    segments: UWordBoundIndices<'a>,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream { segments: text.split_word_bound_indices(), token: Token::default() }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((from, word)) = self.segments.find(|(_, segment)| segment.chars().any(|c| c.is_alphanumeric() || is_emoji(c))) else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.offset_from = from;
        self.token.offset_to = from + word.len();
        self.token.text.clear();
        push_lower(&mut self.token.text, word);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Reports whether a character is in one of the blocks with most emoji. Lucene and the engine treat emoji as words.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27BF}' | '\u{1F300}'..='\u{1FAFF}')
}

struct Anchor {
    index: Index,
    fields: Fields,
    /// None after the first search.
    writer: Option<IndexWriter>,
    /// The index as one segment; None until the first search.
    searcher: Option<Searcher>,
    page: Vec<u8>,
}

impl Anchor {
    fn new(dir: &str, list: &str) -> Result<Anchor> {
        fs::create_dir(dir)?;
        let (fields, schema) = Fields::new(list)?;
        let tokenizers = TokenizerManager::default();
        tokenizers.register(WORDS, Words);
        let sort_by_field = Some(IndexSortByField { field: ORDER.into(), order: Order::Desc });
        let settings = IndexSettings { sort_by_field, ..IndexSettings::default() };
        let index = Index::builder().schema(schema).settings(settings).tokenizers(tokenizers).create_in_dir(dir)?;
        let writer = Some(index.writer_with_num_threads(THREADS, MEMORY)?);
        Ok(Anchor { index, fields, writer, searcher: None, page: Vec::with_capacity(1 << 20) })
    }

    /// Indexes the lines of a file, and commits after each batch of items. The measured time ends when the items are durable, and a new
    /// searcher would find them.
    fn import(&mut self, command: &Command) -> Result<Answer> {
        let text = fs::read(&command.file)?;
        let lines: Vec<&[u8]> = text.split(|c| *c == b'\n').filter(|line| !line.is_empty()).collect();
        let fields = &self.fields;
        let writer = RwLock::new(self.writer.as_mut().ok_or("cannot import after a search")?);
        let began = Instant::now();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            let add = || -> Result<()> {
                while let Some(batch) = lines.chunks(command.batch).nth(next.fetch_add(1, Ordering::Relaxed)) {
                    for line in batch {
                        let document = fields.document(line)?;
                        writer.read().map_err(|_| "another thread panicked")?.add_document(document)?;
                    }
                    writer.write().map_err(|_| "another thread panicked")?.commit()?;
                }
                Ok(())
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(add)).collect();
            threads.into_iter().try_for_each(|each| each.join().map_err(|_| "a thread of the import panicked")?)
        })?;
        Ok(Answer { elapsed: nanoseconds(began.elapsed()), ..Answer::default() })
    }

    /// Merges the index into one segment.
    fn merge(&mut self) -> Result<Searcher> {
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
        }
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > 1 {
            let mut writer: IndexWriter = self.index.writer_with_num_threads(1, MEMORY)?;
            writer.merge(&segments).wait()?;
            writer.wait_merging_threads()?;
        }
        Ok(self.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?.searcher())
    }

    /// Runs queries one after the other. The measured time of a query begins when its Tantivy query has been built. It ends when the items
    /// of the page are in a buffer, or when the total is known.
    fn search(&mut self, command: &Command) -> Result<Answer> {
        let searcher = match self.searcher.take() {
            Some(searcher) => searcher,
            None => self.merge()?,
        };
        let order = searcher.segment_reader(0).fast_fields().u64(ORDER)?;
        let mut answer = Answer::default();
        for asked in &command.queries {
            let query = self.query(&asked.tree)?;
            self.page.clear();
            let began = Instant::now();
            let (hits, total) = match asked {
                Asked { limit: 0, .. } => (Vec::new(), query.count(&searcher)?),
                Asked { newest_first: true, .. } => newest(&searcher, &query, asked.limit, command.one_pass)?,
                _ => best(&searcher, &query, asked.limit, command.one_pass)?,
            };
            for hit in &hits {
                let document: TantivyDocument = searcher.doc(DocAddress::new(0, *hit))?;
                let source = document.get_first(self.fields.source).ok_or("a document has no source")?;
                self.page.extend_from_slice(source.as_bytes().ok_or("a source is not binary")?);
            }
            answer.latencies.push(nanoseconds(began.elapsed()));
            answer.totals.push(total);
            answer.ids.push(hits.iter().map(|hit| order.first(*hit).unwrap_or_default() & u64::from(u32::MAX)).collect());
        }
        self.searcher = Some(searcher);
        Ok(answer)
    }

    /// Returns the Tantivy query of a tree.
    fn query(&self, tree: &Tree) -> Result<Box<dyn Query>> {
        Ok(match tree.kind {
            Kind::Bool => {
                let mut clauses = Vec::new();
                for (occur, trees) in [(Occur::Must, &tree.must), (Occur::Should, &tree.should), (Occur::MustNot, &tree.not)] {
                    for each in trees {
                        clauses.push((occur, self.query(each)?));
                    }
                }
                Box::new(BooleanQuery::new(clauses))
            }
            Kind::Keyword => Box::new(TermQuery::new(self.word(tree)?, IndexRecordOption::Basic)),
            Kind::Words | Kind::Phrase => {
                let mut words = self.words(tree)?;
                match (words.len(), &tree.kind) {
                    (0, _) => Box::new(EmptyQuery),
                    (1, _) => Box::new(TermQuery::new(words.remove(0), IndexRecordOption::WithFreqs)),
                    (_, Kind::Phrase) => Box::new(PhraseQuery::new(words)),
                    _ => Box::new(BooleanQuery::new_multiterms_query(words)),
                }
            }
            Kind::Prefix => {
                let mut query = PhrasePrefixQuery::new(vec![self.word(tree)?]);
                query.set_max_expansions(u32::MAX);
                Box::new(query)
            }
            Kind::Fuzzy => Box::new(FuzzyTermQuery::new(self.word(tree)?, tree.edits, true)),
            Kind::Range => {
                let (from, to) = (Term::from_field_i64(self.field(tree)?, tree.from), Term::from_field_i64(self.field(tree)?, tree.to));
                if from == to {
                    Box::new(TermQuery::new(from, IndexRecordOption::Basic))
                } else {
                    Box::new(RangeQuery::new(Bound::Included(from), Bound::Included(to)))
                }
            }
        })
    }

    fn field(&self, tree: &Tree) -> Result<Field> {
        Ok(self.fields.items.get(&tree.field).ok_or("a query names an unknown field")?.0)
    }

    /// Returns the text of a tree as one term.
    fn word(&self, tree: &Tree) -> Result<Term> {
        Ok(Term::from_field_text(self.field(tree)?, &tree.text))
    }

    /// Returns the words in the text of a tree.
    fn words(&self, tree: &Tree) -> Result<Vec<Term>> {
        let (field, mut terms) = (self.field(tree)?, Vec::new());
        Words.token_stream(&tree.text).process(&mut |token| terms.push(Term::from_field_text(field, &token.text)));
        Ok(terms)
    }
}

/// Returns the first hits by date and the total. The index is sorted by date, so these are the first documents that match.
fn newest(searcher: &Searcher, query: &dyn Query, limit: usize, one_pass: bool) -> Result<(Vec<DocId>, usize)> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let segment = searcher.segment_reader(0);
    let mut hits = Vec::with_capacity(limit);
    if one_pass {
        let mut total = 0;
        weight.for_each_no_score(segment, &mut |documents| {
            total += documents.len();
            hits.extend(documents.iter().take(limit - hits.len()));
        })?;
        return Ok((hits, total));
    }
    let mut documents = weight.scorer(segment, 1.0)?;
    while hits.len() < limit && documents.doc() != TERMINATED {
        hits.push(documents.doc());
        documents.advance();
    }
    Ok((hits, query.count(searcher)?))
}

/// Returns the first hits by relevance and the total. In two passes, Tantivy may skip hits that cannot be among the first.
fn best(searcher: &Searcher, query: &dyn Query, limit: usize, one_pass: bool) -> Result<(Vec<DocId>, usize)> {
    let top = TopDocs::with_limit(limit).order_by_score();
    let (hits, total) =
        if one_pass { searcher.search(query, &(top, Count))? } else { (searcher.search(query, &top)?, query.count(searcher)?) };
    Ok((hits.into_iter().map(|(_, address)| address.doc_id).collect(), total))
}
