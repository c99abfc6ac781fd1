// Edits the text of a platform.yaml and keeps its comments and layout. Called by `platform types`. No I/O.
import { isMap, isScalar, parseDocument, type Document } from 'yaml';

/**
 * Sets `agentSDK: true`. The parsed document gives the position, and the surrounding text does not change. Only if that
 * is impossible (a flow map, a document with an end mark), the document is printed again, with its comments.
 *
 * @throws {Error} when the text is not a map; parse it with `parseProjectConfig` first.
 * @example setAgentSdk('kind: worker # mine\n') // 'kind: worker # mine\nagentSDK: true\n'
 */
export function setAgentSdk(text: string): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const plain = text.slice(mark.length);
  if (isSet(plain)) return text;
  const document = read(plain);
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  if (document.errors.length > 0 || !(isMap(contents) || isEmpty)) throw new Error('The text is not a YAML map');
  const spliced = splice(plain, document);
  if (isSet(spliced)) return mark + spliced;
  if (isMap(contents)) document.set('agentSDK', true);
  else document.contents = document.createNode({ agentSDK: true }) as unknown as Document.Parsed['contents'];
  return mark + document.toString({ lineWidth: 0 });
}

function read(text: string): Document.Parsed {
  return parseDocument(text, { schema: 'core', prettyErrors: false, logLevel: 'error' });
}

function isSet(text: string): boolean {
  const document = read(text);
  return document.errors.length === 0 && isMap(document.contents) && document.get('agentSDK') === true;
}

/** The text with the value replaced, or with a line at its end; not always valid YAML. */
function splice(text: string, { contents }: Document.Parsed): string {
  const value = isMap(contents) ? contents.get('agentSDK', true) : contents;
  if (isScalar(value) && value.range && value.range[1] > value.range[0]) {
    // An explicit null at the root, such as `~`, is replaced by a map.
    return `${text.slice(0, value.range[0])}${value === contents ? 'agentSDK: ' : ''}true${text.slice(value.range[1])}`;
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  // A root map may be indented; its keys must line up.
  const start = isMap(contents) ? (contents.range?.[0] ?? 0) : 0;
  const indent = ' '.repeat(text.slice(0, start).split('\n').at(-1)!.length);
  return `${text}${text === '' || text.endsWith('\n') ? '' : eol}${indent}agentSDK: true${eol}`;
}
