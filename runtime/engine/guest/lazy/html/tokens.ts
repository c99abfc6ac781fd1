// Splits streamed HTML into tokens, each with its original text, so that unchanged tokens are written as they were
// read. htmlparser2 contains the state machine; this file keeps the text to which its positions refer. Used by
// rewriter.ts.
import { QuoteType, Tokenizer } from 'htmlparser2';

/** An attribute of a start tag. */
export interface AttributeToken {
  /** Lower case. */
  readonly name: string;
  /** The text as written, with character references. */
  readonly value: string;
  readonly raw: string;
}

export type Namespace = 'html' | 'svg' | 'math';

export type HtmlToken =
  | { readonly kind: 'text'; readonly raw: string }
  | {
      readonly kind: 'start';
      readonly raw: string;
      readonly name: string;
      readonly attributes: readonly AttributeToken[];
      /** Whether the tag ends with a slash: in SVG and MathML, the element is then empty; HTML ignores the slash. */
      readonly selfClosing: boolean;
      readonly namespace: Namespace;
      /** Whether the element has no end tag and no content. */
      readonly isEmpty: boolean;
    }
  | { readonly kind: 'end'; readonly raw: string; readonly name: string }
  | { readonly kind: 'comment'; readonly raw: string; readonly text: string }
  | { readonly kind: 'doctype'; readonly raw: string; readonly text: string }
  /** A token that handlers do not see: CDATA, an invalid comment, or `</>`. */
  | { readonly kind: 'other'; readonly raw: string };

/** A tokenizer: text is added, and complete tokens are taken. */
interface HtmlTokens {
  write(text: string): HtmlToken[];
  /** The remaining tokens at the end of the document, complete or not. */
  end(): HtmlToken[];
}

const voidElements = new Set(
  'area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr'.split(' '),
);
/** Elements of SVG and MathML whose content is HTML (HTML 13.2.6, integration points). */
const integrationPoints = new Set('foreignobject desc title mi mo mn ms mtext annotation-xml'.split(' '));

export function createHtmlTokens(): HtmlTokens {
  // The text from `base` on, which is not in a token yet.
  let text = '';
  let base = 0;
  let done = 0;
  let tokens: HtmlToken[] = [];
  let tag: { readonly start: number; readonly name: string; readonly attributes: AttributeToken[] } | null = null;
  let attribute = { start: 0, name: '', value: '' };
  // An end tag whose name was read; its `>` may follow in the next piece.
  let ending: { readonly start: number; readonly nameEnd: number } | null = null;

  // The open elements from the outermost one of SVG or MathML on, in which other parsing rules apply.
  const foreign: { readonly name: string; readonly namespace: Namespace }[] = [];

  function namespaceOf(name: string): Namespace {
    if (name === 'svg' || name === 'math') return name;
    const parent = foreign.at(-1);
    return parent === undefined || integrationPoints.has(parent.name) ? 'html' : parent.namespace;
  }

  function leave(name: string): void {
    const at = foreign.findLastIndex((element) => element.name === name);
    if (at >= 0) foreign.length = at;
  }

  const slice = (start: number, end: number): string => text.slice(start - base, end - base);

  function push(token: HtmlToken, end: number): void {
    done = end;
    tokens.push(token);
  }

  function finishEnding(): void {
    if (ending === null) return;
    const close = text.indexOf('>', ending.nameEnd - base);
    if (close < 0) return;
    const { start, nameEnd } = ending;
    ending = null;
    push(
      { kind: 'end', raw: slice(start, base + close + 1), name: slice(start + 2, nameEnd).toLowerCase() },
      base + close + 1,
    );
  }

  /** Emits the text before a token as a token. */
  function before(start: number): void {
    finishEnding();
    if (start > done) push({ kind: 'other', raw: slice(done, start) }, start);
  }

  const tokenizer = new Tokenizer(
    { decodeEntities: false },
    {
      isInForeignContext: () => {
        const parent = foreign.at(-1);
        return parent !== undefined && parent.namespace !== 'html' && !integrationPoints.has(parent.name);
      },
      ontext(start, end) {
        // An unfinished tag at the end of the document must not be taken for text, and the tokenizer does not know
        // where it begins.
        if (start < done) {
          before(end);
          return;
        }
        before(start);
        push({ kind: 'text', raw: slice(start, end) }, end);
      },
      onopentagname(start, end) {
        before(start - 1);
        tag = { start: start - 1, name: slice(start, end).toLowerCase(), attributes: [] };
      },
      onattribname(start, end) {
        attribute = { start, name: slice(start, end).toLowerCase(), value: '' };
      },
      onattribdata(start, end) {
        attribute.value += slice(start, end);
      },
      onattribend(quote, end) {
        const { start, name, value } = attribute;
        const raw = slice(start, quote === QuoteType.NoValue ? start + name.length : end);
        if (tag?.attributes.every((other) => other.name !== name)) tag.attributes.push({ name, value, raw });
      },
      onopentagend: (index) => openTag(index + 1, false),
      onselfclosingtag: (index) => openTag(index + 1, true),
      onclosetag(start, end) {
        before(start - 2);
        ending = { start: start - 2, nameEnd: end };
        leave(slice(start, end).toLowerCase());
      },
      oncomment(start, index, offset) {
        const end = Math.min(index + 1, base + text.length);
        if (slice(start - 4, start) !== '<!--') {
          before(end);
          return;
        }
        before(start - 4);
        push({ kind: 'comment', raw: slice(start - 4, end), text: slice(start, index - offset) }, end);
      },
      ondeclaration(start, index) {
        before(start - 2);
        push({ kind: 'doctype', raw: slice(start - 2, index + 1), text: slice(start, index) }, index + 1);
      },
      oncdata: (_start, index) => before(Math.min(index + 1, base + text.length)),
      onprocessinginstruction: () => {},
      onattribentity: () => {},
      ontextentity: () => {},
      onend: () => {},
    },
  );

  function openTag(end: number, selfClosing: boolean): void {
    const { start, name, attributes } = tag!;
    tag = null;
    const namespace = namespaceOf(name);
    const isEmpty = namespace === 'html' ? voidElements.has(name) : selfClosing;
    if (!isEmpty && (namespace !== 'html' || foreign.length > 0)) foreign.push({ name, namespace });
    push({ kind: 'start', raw: slice(start, end), name, attributes, selfClosing, namespace, isEmpty }, end);
  }

  function take(): HtmlToken[] {
    const taken = tokens;
    tokens = [];
    text = text.slice(done - base);
    base = done;
    return taken;
  }

  return {
    write(piece) {
      text += piece;
      tokenizer.write(piece);
      finishEnding();
      return take();
    },
    end() {
      tokenizer.end();
      before(base + text.length);
      return take();
    },
  };
}
