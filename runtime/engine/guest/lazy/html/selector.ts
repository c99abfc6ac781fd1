// CSS selectors of HTMLRewriter, matched against open elements while the document streams: preceding and enclosing
// elements are known, following elements are not. Used by rewriter.ts.
import {
  AttributeAction,
  parse,
  SelectorType,
  type AttributeSelector,
  type PseudoSelector,
  type Selector,
} from 'css-what';

/** An element, for matching. */
export interface SelectableElement {
  /** Lower case. */
  readonly name: string;
  readonly parent: SelectableElement | null;
  /** Position among the parent's children, from 1, and among its children with the same name. */
  readonly index: number;
  readonly indexOfType: number;
  attribute(name: string): string | null;
}

export type Matcher = (element: SelectableElement) => boolean;

/**
 * Compiles a selector: type, `*`, `.class`, `#id`, attributes with all operators and the flags `i` and `s`,
 * `:nth-child`, `:first-child`, `:nth-of-type`, `:first-of-type`, `:not`, descendants, children and lists.
 *
 * @throws {TypeError} that names the unsupported part.
 */
export function compileSelector(text: string): Matcher {
  let list: Selector[][];
  try {
    list = parse(text);
  } catch (error) {
    throw new TypeError(`The selector "${text}" is not valid: ${(error as Error).message}`);
  }
  return anyOf(list, text);
}

function anyOf(list: readonly Selector[][], text: string): Matcher {
  if (list.length === 0) throw new TypeError(`The selector "${text}" is empty`);
  const matchers = list.map((selector) => complexMatcher(selector, text));
  return (element) => matchers.some((matches) => matches(element));
}

function complexMatcher(selector: readonly Selector[], text: string): Matcher {
  let left: Matcher | null = null;
  let combinator: SelectorType | null = null;
  let compound: Matcher[] = [];
  const join = (): Matcher => {
    if (compound.length === 0) throw new TypeError(`The selector "${text}" is incomplete`);
    const [own, before, how] = [compound, left, combinator];
    if (before === null) return (element) => own.every((matches) => matches(element));
    return (element) => {
      if (!own.every((matches) => matches(element))) return false;
      for (let above = element.parent; above !== null; above = above.parent) {
        if (before(above)) return true;
        if (how === SelectorType.Child) return false;
      }
      return false;
    };
  };
  for (const part of selector) {
    if (part.type === SelectorType.Child || part.type === SelectorType.Descendant) {
      left = join();
      combinator = part.type;
      compound = [];
    } else compound.push(simpleMatcher(part, text));
  }
  return join();
}

function simpleMatcher(part: Selector, text: string): Matcher {
  switch (part.type) {
    case SelectorType.Universal:
      return () => true;
    case SelectorType.Tag: {
      const name = part.name.toLowerCase();
      return (element) => element.name === name;
    }
    case SelectorType.Attribute:
      return attributeMatcher(part);
    case SelectorType.Pseudo:
      return pseudoMatcher(part, text);
    default:
      throw unsupported(part.type, text);
  }
}

function attributeMatcher({ name: written, action, value: wanted, ignoreCase }: AttributeSelector): Matcher {
  const name = written.toLowerCase();
  const fold = ignoreCase === true;
  const value = fold ? wanted.toLowerCase() : wanted;
  const test = attributeTest(action, value);
  return (element) => {
    const found = element.attribute(name);
    return found !== null && test(fold ? found.toLowerCase() : found);
  };
}

function attributeTest(action: AttributeAction, value: string): (found: string) => boolean {
  switch (action) {
    case AttributeAction.Exists:
      return () => true;
    case AttributeAction.Equals:
      return (found) => found === value;
    case AttributeAction.Not:
      return (found) => found !== value;
    case AttributeAction.Element:
      return (found) => value !== '' && !/\s/.test(value) && found.split(/[\t\n\f\r ]+/).includes(value);
    case AttributeAction.Hyphen:
      return (found) => found === value || found.startsWith(`${value}-`);
    // An empty operand matches nothing (Selectors 4, 6.2).
    case AttributeAction.Start:
      return (found) => value !== '' && found.startsWith(value);
    case AttributeAction.End:
      return (found) => value !== '' && found.endsWith(value);
    case AttributeAction.Any:
      return (found) => value !== '' && found.includes(value);
  }
}

function pseudoMatcher({ name, data }: PseudoSelector, text: string): Matcher {
  switch (name) {
    case 'first-child':
      return (element) => element.index === 1;
    case 'first-of-type':
      return (element) => element.indexOfType === 1;
    case 'nth-child': {
      const test = nth(data, text);
      return (element) => test(element.index);
    }
    case 'nth-of-type': {
      const test = nth(data, text);
      return (element) => test(element.indexOfType);
    }
    case 'not': {
      if (!Array.isArray(data)) throw unsupported(':not without a selector', text);
      const matches = anyOf(data, text);
      return (element) => !matches(element);
    }
    default:
      throw unsupported(`:${name}`, text);
  }
}

/** `odd`, `even`, `5`, `2n`, `-n+3` and similar. */
function nth(data: unknown, text: string): (index: number) => boolean {
  const formula = String(data)
    .toLowerCase()
    .replace(/\s+/g, '')
    .replace(/^odd$/, '2n+1')
    .replace(/^even$/, '2n');
  const parts = /^(?:([+-]?\d*)n([+-]\d+)?|([+-]?\d+))$/.exec(formula);
  if (parts === null) throw unsupported(`:nth(${String(data)})`, text);
  const [, times, plus = '0', only] = parts;
  if (only !== undefined) return (index) => index === Number(only);
  const step = times === '' || times === '+' ? 1 : times === '-' ? -1 : Number(times);
  const start = Number(plus);
  if (step === 0) return (index) => index === start;
  return (index) => (index - start) % step === 0 && (index - start) / step >= 0;
}

function unsupported(what: string, text: string): TypeError {
  return new TypeError(`The selector "${text}" is not supported: ${what}`);
}
