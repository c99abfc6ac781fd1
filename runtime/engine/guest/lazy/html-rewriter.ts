// HTMLRewriter, as in Cloudflare Workers: handlers for parts of an HTML document as it streams through. Everything
// else stays unchanged. lazy.ts loads this module when it is first used; htmlparser2 and css-what parse HTML and
// selectors (html/).
import type { LazyDeps } from '../lazy.ts';
import { Rewriting, type DocumentHandlers, type ElementHandlers, type Rules } from './html/rewriter.ts';
import { compileSelector, type Matcher } from './html/selector.ts';

export default function createHtmlRewriter(deps: LazyDeps): Record<string, unknown> {
  const { ReadableStream, Response, TextDecoder, TextEncoder } = deps;
  const { finishInterface, requireArguments, toDomString } = deps.webidl;

  function toHandlers<T>(handlers: unknown, what: string): T {
    if ((typeof handlers !== 'object' && typeof handlers !== 'function') || handlers === null)
      throw new TypeError(`${what} needs an object of handlers`);
    return handlers as T;
  }

  class HTMLRewriter {
    readonly #elements: { readonly matches: Matcher; readonly handlers: ElementHandlers }[] = [];
    readonly #documents: DocumentHandlers[] = [];

    on(selector: string, handlers: ElementHandlers): this {
      requireArguments(arguments.length, 2, 'HTMLRewriter.on');
      const matches = compileSelector(toDomString(selector));
      this.#elements.push({ matches, handlers: toHandlers(handlers, 'HTMLRewriter.on') });
      return this;
    }

    onDocument(handlers: DocumentHandlers): this {
      requireArguments(arguments.length, 1, 'HTMLRewriter.onDocument');
      this.#documents.push(toHandlers(handlers, 'HTMLRewriter.onDocument'));
      return this;
    }

    /** A response with the same status and headers whose body is rewritten while it is read. */
    transform(response: InstanceType<typeof Response>): InstanceType<typeof Response> {
      requireArguments(arguments.length, 1, 'HTMLRewriter.transform');
      if (!(response instanceof Response)) throw new TypeError('HTMLRewriter.transform needs a Response');
      if (response.body === null) return new Response(null, response);
      const type = response.headers.get('content-type');
      const label = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type ?? '')?.[1];
      const decoder = decoderOf(label);
      const rules: Rules = { elements: [...this.#elements], documents: [...this.#documents] };
      const result = new Response(rewritten(response.body, decoder, rules), response);
      result.headers.delete('content-length');
      // The output is always UTF-8.
      if (decoder.encoding !== 'utf-8') result.headers.set('content-type', type!.replace(label!, 'utf-8'));
      return result;
    }
  }
  finishInterface(HTMLRewriter);

  function decoderOf(label: string | undefined): InstanceType<typeof TextDecoder> {
    try {
      return new TextDecoder(label ?? 'utf-8', { ignoreBOM: true });
    } catch {
      return new TextDecoder('utf-8', { ignoreBOM: true });
    }
  }

  function rewritten(
    body: InstanceType<typeof ReadableStream>,
    decoder: InstanceType<typeof TextDecoder>,
    rules: Rules,
  ): InstanceType<typeof ReadableStream> {
    const reader = body.getReader();
    const rewriting = new Rewriting(rules);
    const encoder = new TextEncoder();
    return new ReadableStream({
      async pull(controller) {
        try {
          // A piece may produce no output yet, such as an incomplete tag.
          for (let output = ''; output === '';) {
            const { done, value } = await reader.read();
            const text = done ? decoder.decode() : decoder.decode(value as Uint8Array, { stream: true });
            output = text === '' ? '' : await rewriting.write(text);
            if (done) output += await rewriting.end();
            if (output !== '') controller.enqueue(encoder.encode(output));
            if (done) {
              controller.close();
              return;
            }
          }
        } catch (error) {
          // An error of a handler ends both the input and the output.
          reader.cancel(error).catch(() => {});
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }

  return { HTMLRewriter };
}
