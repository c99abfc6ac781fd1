// Arguments of HTMLRewriter handlers: an element, its end tag, a comment, a piece of text, the doctype, the end of the
// document. Each gives access to edits, which rewriter.ts creates before the handlers run, and applies afterwards.
import type { AttributeToken } from './tokens.ts';

/** Edits that handlers request around a token. */
export interface Edits {
  before: string;
  after: string;
  replacement: string;
  removed: boolean;
  /** True while handlers run; afterwards, the token can no longer be changed. */
  live: boolean;
}

/** Additional edits of an element. */
export interface ElementEdits extends Edits {
  name: string;
  attributes: AttributeToken[];
  /** Whether the element's name or attributes were changed. */
  changed: boolean;
  readonly hasContent: boolean;
  readonly namespace: string;
  prepend: string;
  append: string;
  /** Replacement for the whole content of the element. */
  inner: string | null;
  keepsContent: boolean;
  endHandlers: ((end: EndTag) => unknown)[];
}

export interface TextEdits extends Edits {
  text: string;
}

export function createEdits(): Edits {
  return { before: '', after: '', replacement: '', removed: false, live: true };
}

function live<T extends Edits>(edits: T): T {
  if (!edits.live) throw new TypeError('This part of the document is no longer available: use it only in its handler');
  return edits;
}

/** Converts a content argument to markup. */
function markup(content: unknown, options: unknown): string {
  if (typeof content === 'object' && content !== null && ('getReader' in content || 'body' in content))
    throw new TypeError('Content must be a string: streams and responses are not supported here');
  const text = typeof content === 'string' ? content : `${content as string}`;
  const { html } = (options ?? {}) as { html?: unknown };
  return html ? text : text.replace(/[<>&]/g, (sign) => (sign === '<' ? '&lt;' : sign === '>' ? '&gt;' : '&amp;'));
}

class Content<T extends Edits> {
  readonly #edits: T;

  constructor(edits: T) {
    this.#edits = edits;
  }

  get removed(): boolean {
    return live(this.#edits).removed;
  }

  before(content: string, options?: unknown): this {
    live(this.#edits).before += markup(content, options);
    return this;
  }

  /** New content goes directly after the token, before the content of earlier calls. */
  after(content: string, options?: unknown): this {
    const edits = live(this.#edits);
    edits.after = markup(content, options) + edits.after;
    return this;
  }

  replace(content: string, options?: unknown): this {
    const edits = live(this.#edits);
    edits.replacement = markup(content, options);
    edits.removed = true;
    return this;
  }

  remove(): this {
    live(this.#edits).removed = true;
    return this;
  }
}

export class Comment extends Content<TextEdits> {
  readonly #edits: TextEdits;

  constructor(edits: TextEdits) {
    super(edits);
    this.#edits = edits;
  }

  get text(): string {
    return live(this.#edits).text;
  }
  set text(value: string) {
    const text = `${value}`;
    if (/^-?>|--!?>|<!-$/.test(text)) throw new TypeError('The text would end the comment');
    live(this.#edits).text = text;
  }
}

export class Text extends Content<TextEdits> {
  readonly #edits: TextEdits;
  readonly #last: boolean;

  constructor(edits: TextEdits, last: boolean) {
    super(edits);
    this.#edits = edits;
    this.#last = last;
  }

  /** The text as written, with character references. */
  get text(): string {
    return live(this.#edits).text;
  }
  /** Whether this piece marks the end of a text; such a piece is empty. */
  get lastInTextNode(): boolean {
    live(this.#edits);
    return this.#last;
  }
}

const illegalName = /[\0\t\n\f\r "'/<=>]/;

export class Element extends Content<ElementEdits> {
  readonly #edits: ElementEdits;

  constructor(edits: ElementEdits) {
    super(edits);
    this.#edits = edits;
  }

  get tagName(): string {
    return live(this.#edits).name;
  }
  set tagName(value: string) {
    const name = `${value}`.toLowerCase();
    if (!/^[a-z]/.test(name) || illegalName.test(name)) throw new TypeError(`"${value}" is not a valid tag name`);
    live(this.#edits).name = name;
    this.#edits.changed = true;
  }

  get namespaceURI(): string {
    return live(this.#edits).namespace;
  }

  get attributes(): IterableIterator<[string, string]> {
    return live(this.#edits)
      .attributes.map(({ name, value }): [string, string] => [name, value])
      [Symbol.iterator]();
  }

  getAttribute(name: string): string | null {
    const key = `${name}`.toLowerCase();
    return live(this.#edits).attributes.find((attribute) => attribute.name === key)?.value ?? null;
  }

  hasAttribute(name: string): boolean {
    return this.getAttribute(name) !== null;
  }

  setAttribute(name: string, value: string): this {
    const edits = live(this.#edits);
    const key = `${name}`.toLowerCase();
    if (key === '' || illegalName.test(key)) throw new TypeError(`"${name}" is not a valid attribute name`);
    const text = `${value}`.replaceAll('"', '&quot;');
    const attribute = { name: key, value: text, raw: `${key}="${text}"` };
    const at = edits.attributes.findIndex((other) => other.name === key);
    if (at < 0) edits.attributes.push(attribute);
    else edits.attributes[at] = attribute;
    edits.changed = true;
    return this;
  }

  removeAttribute(name: string): this {
    const edits = live(this.#edits);
    const key = `${name}`.toLowerCase();
    const kept = edits.attributes.filter((attribute) => attribute.name !== key);
    if (kept.length < edits.attributes.length) {
      edits.attributes = kept;
      edits.changed = true;
    }
    return this;
  }

  prepend(content: string, options?: unknown): this {
    const edits = live(this.#edits);
    edits.prepend = markup(content, options) + edits.prepend;
    return this;
  }

  append(content: string, options?: unknown): this {
    live(this.#edits).append += markup(content, options);
    return this;
  }

  setInnerContent(content: string, options?: unknown): this {
    const edits = live(this.#edits);
    edits.inner = markup(content, options);
    edits.prepend = '';
    edits.append = '';
    return this;
  }

  removeAndKeepContent(): this {
    const edits = live(this.#edits);
    edits.removed = true;
    edits.keepsContent = true;
    return this;
  }

  onEndTag(handler: (end: EndTag) => unknown): void {
    const edits = live(this.#edits);
    if (typeof handler !== 'function') throw new TypeError('The handler of an end tag must be a function');
    if (!edits.hasContent) throw new TypeError(`<${edits.name}> has no end tag`);
    edits.endHandlers.push(handler);
  }
}

export interface EndTagEdits extends Edits {
  name: string;
  renamed: boolean;
}

export class EndTag {
  readonly #edits: EndTagEdits;

  constructor(edits: EndTagEdits) {
    this.#edits = edits;
  }

  get name(): string {
    return live(this.#edits).name;
  }
  set name(value: string) {
    const name = `${value}`.toLowerCase();
    if (!/^[a-z]/.test(name) || illegalName.test(name)) throw new TypeError(`"${value}" is not a valid tag name`);
    live(this.#edits).name = name;
    this.#edits.renamed = true;
  }

  before(content: string, options?: unknown): this {
    live(this.#edits).before += markup(content, options);
    return this;
  }

  after(content: string, options?: unknown): this {
    const edits = live(this.#edits);
    edits.after = markup(content, options) + edits.after;
    return this;
  }

  remove(): this {
    live(this.#edits).removed = true;
    return this;
  }
}

export class Doctype {
  readonly #edits: Edits;
  readonly #parts: { readonly name: string | null; readonly publicId: string | null; readonly systemId: string | null };

  /** @param text between `<!` and `>` */
  constructor(edits: Edits, text: string) {
    this.#edits = edits;
    const [, name, keyword, first, second] =
      /^doctype\s*([^\s"']+)?\s*(?:(public|system)\s*("[^"]*"|'[^']*')?\s*("[^"]*"|'[^']*')?)?/i.exec(text) ?? [];
    const isPublic = keyword?.toLowerCase() === 'public';
    const bare = (quoted: string | undefined): string | null => quoted?.slice(1, -1) ?? null;
    this.#parts = {
      name: name?.toLowerCase() ?? null,
      publicId: isPublic ? bare(first) : null,
      systemId: bare(isPublic ? second : first),
    };
  }

  get name(): string | null {
    live(this.#edits);
    return this.#parts.name;
  }
  get publicId(): string | null {
    live(this.#edits);
    return this.#parts.publicId;
  }
  get systemId(): string | null {
    live(this.#edits);
    return this.#parts.systemId;
  }

  get removed(): boolean {
    return live(this.#edits).removed;
  }

  remove(): this {
    live(this.#edits).removed = true;
    return this;
  }
}

export class DocumentEnd {
  readonly #edits: Edits;

  constructor(edits: Edits) {
    this.#edits = edits;
  }

  append(content: string, options?: unknown): this {
    live(this.#edits).before += markup(content, options);
    return this;
  }
}
