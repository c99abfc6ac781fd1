// Runs a document through the handlers of an HTMLRewriter: tracks open elements, calls the handlers whose selectors
// match, and writes each token with its edits. Used by ../html-rewriter.ts, which handles bodies and encodings.
import {
  Comment,
  createEdits,
  Doctype,
  DocumentEnd,
  Element,
  EndTag,
  Text,
  type Edits,
  type ElementEdits,
  type EndTagEdits,
  type TextEdits,
} from './content.ts';
import type { Matcher, SelectableElement } from './selector.ts';
import { createHtmlTokens, type HtmlToken, type Namespace } from './tokens.ts';

/** The handlers of one `on` call; methods are called on the handler object itself. */
export interface ElementHandlers {
  element?(element: Element): unknown;
  comments?(comment: Comment): unknown;
  text?(text: Text): unknown;
}

/** The handlers of one `onDocument` call. */
export interface DocumentHandlers {
  doctype?(doctype: Doctype): unknown;
  comments?(comment: Comment): unknown;
  text?(text: Text): unknown;
  end?(end: DocumentEnd): unknown;
}

export interface Rules {
  readonly elements: readonly { readonly matches: Matcher; readonly handlers: ElementHandlers }[];
  readonly documents: readonly DocumentHandlers[];
}

type StartToken = Extract<HtmlToken, { kind: 'start' }>;

const namespaces: Readonly<Record<Namespace, string>> = {
  html: 'http://www.w3.org/1999/xhtml',
  svg: 'http://www.w3.org/2000/svg',
  math: 'http://www.w3.org/1998/Math/MathML',
};

/** Optional end tags: the start tag on the left closes an open element on the right (HTML 13.1.2.4). */
const impliedEnds = new Map<string, ReadonlySet<string>>();
for (const [names, ended] of [
  ['li', 'li'],
  ['dt dd', 'dt dd'],
  ['option', 'option'],
  ['optgroup', 'option optgroup'],
  ['td th', 'td th'],
  ['tr', 'td th tr'],
  ['thead tbody tfoot', 'td th tr thead tbody tfoot'],
  ['rp rt', 'rp rt'],
  [
    'address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr main menu nav ol p pre section table ul',
    'p',
  ],
] as const) {
  for (const name of names.split(' ')) impliedEnds.set(name, new Set(ended.split(' ')));
}

/** Calls an optional handler; returns its promise, or null. */
function waited(result: unknown): PromiseLike<unknown> | null {
  return typeof (result as { then?: unknown } | null | undefined)?.then === 'function'
    ? (result as PromiseLike<unknown>)
    : null;
}

/** An element between its tags. */
class OpenElement implements SelectableElement {
  readonly name: string;
  readonly parent: OpenElement | null;
  readonly index: number;
  readonly indexOfType: number;
  children = 0;
  readonly childrenOfType = new Map<string, number>();
  /** The rules whose selectors match the element. */
  rules: number[] = [];
  edits: ElementEdits | null = null;
  readonly #token: StartToken;

  constructor(
    token: StartToken,
    parent: OpenElement | null,
    among: { children: number; readonly childrenOfType: Map<string, number> },
  ) {
    this.#token = token;
    this.name = token.name;
    this.parent = parent;
    this.index = ++among.children;
    this.indexOfType = (among.childrenOfType.get(token.name) ?? 0) + 1;
    among.childrenOfType.set(token.name, this.indexOfType);
  }

  attribute(name: string): string | null {
    return this.#token.attributes.find((attribute) => attribute.name === name)?.value ?? null;
  }

  /** Whether the content of the element is removed. */
  get hidesContent(): boolean {
    return this.edits !== null && (this.edits.inner !== null || (this.edits.removed && !this.edits.keepsContent));
  }
}

/** One run of a document through the rewriter's rules. */
export class Rewriting {
  readonly #rules: Rules;
  readonly #tokens = createHtmlTokens();
  readonly #root = { children: 0, childrenOfType: new Map<string, number>() };
  #innermost: OpenElement | null = null;
  /** Number of open elements that match each rule. */
  readonly #active: number[];
  /** Number of open elements whose content is removed. */
  #hidden = 0;
  #inText = false;
  #output = '';

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#active = rules.elements.map(() => 0);
  }

  /** Accepts a piece of the document; returns the output that is complete. */
  async write(piece: string): Promise<string> {
    for (const token of this.#tokens.write(piece)) {
      const waiting = this.#token(token);
      if (waiting !== null) await waiting;
    }
    return this.#take();
  }

  async end(): Promise<string> {
    for (const token of this.#tokens.end()) {
      const waiting = this.#token(token);
      if (waiting !== null) await waiting;
    }
    if (this.#inText) await this.#text('', true);
    while (this.#innermost !== null) this.#close(this.#innermost);
    const edits = createEdits();
    const end = new DocumentEnd(edits);
    for (const handlers of this.#rules.documents) await handlers.end?.(end);
    edits.live = false;
    this.#output += edits.before;
    return this.#take();
  }

  #take(): string {
    const output = this.#output;
    this.#output = '';
    return output;
  }

  #emit(text: string): void {
    if (this.#hidden === 0) this.#output += text;
  }

  /**
   * Null if it finished synchronously. Most tokens have no handler, and to await them would cost more than everything
   * else.
   */
  #token(token: HtmlToken): Promise<void> | null {
    if (token.kind === 'text') {
      this.#inText = true;
      if (this.#hasTextHandlers()) return this.#text(token.raw, false);
      this.#emit(token.raw);
      return null;
    }
    if (this.#inText && token.kind !== 'other') {
      this.#inText = false;
      if (this.#hasTextHandlers()) return this.#text('', true).then(() => this.#markup(token) ?? undefined);
    }
    return this.#markup(token);
  }

  #markup(token: HtmlToken): Promise<void> | null {
    switch (token.kind) {
      case 'start':
        return this.#start(token);
      case 'end':
        return this.#end(token.name, token.raw);
      case 'comment':
        return this.#comment(token.raw, token.text);
      case 'doctype':
        return this.#doctype(token.raw, token.text);
      default:
        this.#emit(token.raw);
        return null;
    }
  }

  #hasTextHandlers(): boolean {
    const { elements, documents } = this.#rules;
    return (
      documents.some(({ text }) => text !== undefined) ||
      elements.some(({ handlers }, rule) => handlers.text !== undefined && this.#active[rule]! > 0)
    );
  }

  async #text(raw: string, last: boolean): Promise<void> {
    if (last) this.#inText = false;
    const edits: TextEdits = { ...createEdits(), text: raw };
    const text = new Text(edits, last);
    for (const [rule, { handlers }] of this.#rules.elements.entries()) {
      if (this.#active[rule]! > 0) await handlers.text?.(text);
    }
    for (const handlers of this.#rules.documents) await handlers.text?.(text);
    this.#emitEdited(edits, raw);
  }

  #emitEdited(edits: Edits, raw: string): void {
    edits.live = false;
    this.#emit(edits.before + (edits.removed ? edits.replacement : raw) + edits.after);
  }

  #comment(raw: string, text: string): Promise<void> | null {
    const { elements, documents } = this.#rules;
    const heard =
      documents.some(({ comments }) => comments !== undefined) ||
      elements.some(({ handlers }, rule) => handlers.comments !== undefined && this.#active[rule]! > 0);
    if (heard) return this.#handledComment(raw, text);
    this.#emit(raw);
    return null;
  }

  async #handledComment(raw: string, text: string): Promise<void> {
    const edits: TextEdits = { ...createEdits(), text };
    const comment = new Comment(edits);
    for (const [rule, { handlers }] of this.#rules.elements.entries()) {
      if (this.#active[rule]! > 0) await handlers.comments?.(comment);
    }
    for (const handlers of this.#rules.documents) await handlers.comments?.(comment);
    this.#emitEdited(edits, edits.text === text ? raw : `<!--${edits.text}-->`);
  }

  #doctype(raw: string, text: string): Promise<void> | null {
    if (this.#rules.documents.every(({ doctype }) => doctype === undefined)) {
      this.#emit(raw);
      return null;
    }
    return (async () => {
      const edits = createEdits();
      const doctype = new Doctype(edits, text);
      for (const handlers of this.#rules.documents) await handlers.doctype?.(doctype);
      this.#emitEdited(edits, raw);
    })();
  }

  #start(token: StartToken): Promise<void> | null {
    if (token.namespace === 'html') {
      const ended = impliedEnds.get(token.name);
      while (ended !== undefined && this.#innermost !== null && ended.has(this.#innermost.name))
        this.#close(this.#innermost);
    }
    const parent = this.#innermost;
    const element = new OpenElement(token, parent, parent ?? this.#root);
    let heard = false;
    for (const [rule, { matches, handlers }] of this.#rules.elements.entries()) {
      if (!matches(element)) continue;
      element.rules.push(rule);
      heard ||= handlers.element !== undefined;
    }
    if (heard) return this.#handledStart(token, element);
    this.#emit(token.raw);
    if (!token.isEmpty) this.#open(element);
    return null;
  }

  async #handledStart(token: StartToken, element: OpenElement): Promise<void> {
    const edits: ElementEdits = {
      ...createEdits(),
      name: token.name,
      attributes: [...token.attributes],
      changed: false,
      hasContent: !token.isEmpty,
      namespace: namespaces[token.namespace],
      prepend: '',
      append: '',
      inner: null,
      keepsContent: false,
      endHandlers: [],
    };
    const view = new Element(edits);
    for (const rule of element.rules) {
      const waiting = waited(this.#rules.elements[rule]!.handlers.element?.(view));
      if (waiting !== null) await waiting;
    }
    edits.live = false;
    this.#emit(
      edits.before +
        (edits.removed ? edits.replacement : edits.changed ? startTag(edits, token.selfClosing) : token.raw),
    );
    if (token.isEmpty) {
      this.#emit(edits.after);
      return;
    }
    element.edits = edits;
    if (!edits.removed || edits.keepsContent) this.#emit(edits.prepend + (edits.inner ?? ''));
    this.#open(element);
  }

  #open(element: OpenElement): void {
    this.#innermost = element;
    for (const rule of element.rules) this.#active[rule]!++;
    if (element.hidesContent) this.#hidden++;
  }

  /** Called when an element ends without an end tag. */
  #close(element: OpenElement): void {
    this.#leave(element);
    const { edits } = element;
    if (edits === null) return;
    if (!edits.removed || edits.keepsContent) this.#emit(edits.append);
    this.#emit(edits.after);
  }

  #leave(element: OpenElement): void {
    this.#innermost = element.parent;
    for (const rule of element.rules) this.#active[rule]!--;
    if (element.hidesContent) this.#hidden--;
  }

  #end(name: string, raw: string): Promise<void> | null {
    let element = this.#innermost;
    while (element !== null && element.name !== name) element = element.parent;
    if (element === null) {
      this.#emit(raw);
      return null;
    }
    while (this.#innermost !== element) this.#close(this.#innermost!);
    this.#leave(element);
    const { edits } = element;
    if (edits !== null) return this.#handledEnd(edits, raw, name);
    this.#emit(raw);
    return null;
  }

  async #handledEnd(edits: ElementEdits, raw: string, name: string): Promise<void> {
    const end: EndTagEdits = {
      ...createEdits(),
      name: edits.name,
      renamed: edits.name !== name,
      removed: edits.removed,
    };
    const view = new EndTag(end);
    for (const handler of edits.endHandlers) {
      const waiting = waited(handler(view));
      if (waiting !== null) await waiting;
    }
    end.live = false;
    if (!edits.removed || edits.keepsContent) this.#emit(edits.append);
    this.#emit(end.before + (end.removed ? '' : end.renamed ? `</${end.name}>` : raw) + end.after + edits.after);
  }
}

function startTag({ name, attributes }: ElementEdits, selfClosing: boolean): string {
  return `<${name}${attributes.map(({ raw }) => ` ${raw}`).join('')}${selfClosing ? ' />' : '>'}`;
}
