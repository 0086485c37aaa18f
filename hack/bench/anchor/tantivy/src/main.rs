//! Serves a Tantivy index over standard input and output. Usage: `anchor DIR`. Each line of the input is a JSON-RPC call, and each line of
//! the output is a response. The index has only the fields that the queries need, and stores the whole items. It is sorted by date, newest
//! first, so that the first page of a query sorted by date consists of the first documents that match.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, BufRead};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde::{Deserialize, Serialize};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{
    BooleanQuery, EmptyQuery, EnableScoring, FuzzyTermQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::time::OffsetDateTime;
use tantivy::time::format_description::well_known::Rfc3339;
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
    let mut anchor = Anchor::new(&env::args().nth(1).ok_or("usage: anchor DIR")?)?;
    for line in io::stdin().lock().lines() {
        let call: Call = serde_json::from_str(&line?)?;
        let [command] = call.params;
        let answer = if call.method.ends_with(".Import") { anchor.import(&command.file)? } else { anchor.search(&command)? };
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

/// The fields of an item that are indexed.
#[derive(Deserialize)]
struct Item<'a> {
    id: u64,
    #[serde(borrow)]
    created_on: Cow<'a, str>,
    campaign: i64,
    #[serde(borrow)]
    approval_status: Cow<'a, str>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    hashtag: Hashtag<'a>,
    #[serde(borrow)]
    tags: Tags<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow)]
    social_platform: Cow<'a, str>,
    #[serde(borrow)]
    content_type: Cow<'a, str>,
    #[serde(borrow)]
    author: Author<'a>,
    #[serde(borrow)]
    platform_data: PlatformData<'a>,
}

#[derive(Deserialize)]
struct Author<'a> {
    #[serde(borrow)]
    username: Cow<'a, str>,
}

#[derive(Deserialize)]
struct PlatformData<'a> {
    #[serde(borrow)]
    location: Location<'a>,
}

#[derive(Deserialize)]
struct Location<'a> {
    #[serde(borrow)]
    country_code: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Hashtag<'a> {
    #[serde(borrow)]
    hashtag_text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Tags<'a> {
    #[serde(borrow)]
    marketer_tags: Vec<Tag<'a>>,
    #[serde(borrow)]
    hashtags: Vec<Tag<'a>>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
}

/// The fields of the index. Those of items have the names that queries use.
struct Fields {
    text: Field,
    approval_status: Field,
    social_platform: Field,
    content_type: Field,
    username: Field,
    country_code: Field,
    hashtag_text: Field,
    marketer_tags: Field,
    hashtags: Field,
    campaign: Field,
    created_on: Field,
    /// The date in seconds and, in the lower 32 bits, the id. Tantivy can sort an index by only one field. The dates of items have no
    /// fractions of a second.
    order: Field,
    source: Field,
}

impl Fields {
    fn new() -> (Fields, Schema) {
        let mut b = Schema::builder();
        let indexing = |tokenizer, record| TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(record);
        let text = indexing(WORDS, IndexRecordOption::WithFreqsAndPositions);
        let keyword = TextOptions::default().set_indexing_options(indexing("raw", IndexRecordOption::Basic).set_fieldnorms(false));
        let fields = Fields {
            text: b.add_text_field("content.text", TextOptions::default().set_indexing_options(text)),
            approval_status: b.add_text_field("approval_status", keyword.clone()),
            social_platform: b.add_text_field("content.social_platform", keyword.clone()),
            content_type: b.add_text_field("content.content_type", keyword.clone()),
            username: b.add_text_field("content.author.username", keyword.clone()),
            country_code: b.add_text_field("content.platform_data.location.country_code", keyword.clone()),
            hashtag_text: b.add_text_field("hashtag.hashtag_text", keyword.clone()),
            marketer_tags: b.add_text_field("tags.marketer_tags.key", keyword.clone()),
            hashtags: b.add_text_field("tags.hashtags.key", keyword),
            campaign: b.add_i64_field("campaign", INDEXED),
            created_on: b.add_i64_field("created_on", FAST),
            order: b.add_u64_field(ORDER, FAST),
            source: b.add_bytes_field("source", STORED),
        };
        (fields, b.build())
    }

    fn document(&self, line: &[u8]) -> Result<TantivyDocument> {
        let item: Item = serde_json::from_slice(line)?;
        let created = OffsetDateTime::parse(&item.created_on, &Rfc3339)?.unix_timestamp();
        let mut d = TantivyDocument::default();
        d.add_text(self.text, &item.content.text);
        for (field, value) in [
            (self.approval_status, &item.approval_status),
            (self.social_platform, &item.content.social_platform),
            (self.content_type, &item.content.content_type),
            (self.username, &item.content.author.username),
            (self.country_code, &item.content.platform_data.location.country_code),
            (self.hashtag_text, &item.hashtag.hashtag_text),
        ] {
            d.add_text(field, lower(value));
        }
        for (field, tags) in [(self.marketer_tags, &item.tags.marketer_tags), (self.hashtags, &item.tags.hashtags)] {
            for tag in tags {
                d.add_text(field, lower(&tag.key));
            }
        }
        d.add_i64(self.campaign, item.campaign);
        d.add_i64(self.created_on, created * 1000);
        d.add_u64(self.order, u64::try_from(created)? << 32 | item.id);
        d.add_bytes(self.source, line);
        Ok(d)
    }
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

/// Reports whether a character is in one of the blocks with most emoji, which are words for Lucene and the engine.
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
    fn new(dir: &str) -> Result<Anchor> {
        fs::create_dir(dir)?;
        let (fields, schema) = Fields::new();
        let tokenizers = TokenizerManager::default();
        tokenizers.register(WORDS, Words);
        let sort_by_field = Some(IndexSortByField { field: ORDER.into(), order: Order::Desc });
        let settings = IndexSettings { sort_by_field, ..IndexSettings::default() };
        let index = Index::builder().schema(schema).settings(settings).tokenizers(tokenizers).create_in_dir(dir)?;
        let writer = Some(index.writer_with_num_threads(THREADS, MEMORY)?);
        Ok(Anchor { index, fields, writer, searcher: None, page: Vec::with_capacity(1 << 20) })
    }

    /// Indexes the lines of a file. The measured time ends when the items are durable, and a new searcher would find them.
    fn import(&mut self, file: &str) -> Result<Answer> {
        let text = fs::read(file)?;
        let lines: Vec<&[u8]> = text.split(|c| *c == b'\n').filter(|line| !line.is_empty()).collect();
        let fields = &self.fields;
        let writer = self.writer.as_mut().ok_or("an import follows a search")?;
        let began = Instant::now();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            let add = || -> Result<()> {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    writer.add_document(fields.document(line)?)?;
                }
                Ok(())
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(add)).collect();
            threads.into_iter().try_for_each(|each| each.join().map_err(|_| "a thread of the import panicked")?)
        })?;
        writer.commit()?;
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
        let start = Instant::now();
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
        answer.elapsed = nanoseconds(start.elapsed());
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
        Ok(self.index.schema().get_field(&tree.field)?)
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
