// A provider of models on a real socket, on the wire of OpenAI, that does what the name of the model says: answers,
// fails in one of many ways, or is silent. Keeps what it was asked.
import type { ServerResponse } from 'node:http';
import { answerJson, openProviderServer, openStream as open, trickle, type ModelProvider } from './provider-server.ts';

export type { ModelProvider } from './provider-server.ts';

type Answer = (response: ServerResponse, body: Record<string, unknown>, nth: number) => void;

const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
/** Of every answer. */
export const MODEL_SAYS = 'Hello, world 🌍!';

export function chunkOf(delta: unknown, finish: string | null = null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'up', choices, ...more });
}

const usageChunk = JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, choices: [], usage });
const frameOf = (data: string): string => `data: ${data}\n\n`;
const said = [...MODEL_SAYS.matchAll(/.{1,4}/gu)].map(([piece]) => frameOf(chunkOf({ content: piece })));
const begun = frameOf(chunkOf({ role: 'assistant', content: '' })) + said[0]!;
const whole = [frameOf(chunkOf({ role: 'assistant', content: '' })), ...said, frameOf(chunkOf({}, 'stop'))];

function wholeAnswer(more: object = { usage }): string {
  const message = { role: 'assistant', content: MODEL_SAYS };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model: 'up', choices, ...more });
}

function refuse(response: ServerResponse, status: number, message: string, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'server_error', param: null, code: null } }));
}

const answerWell: Answer = (response, body) => {
  if (body['stream'] !== true) {
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(wholeAnswer());
  }
  open(response);
  const asks = (body['stream_options'] as { include_usage?: boolean } | undefined)?.include_usage === true;
  return void response.end([...whole, ...(asks ? [frameOf(usageChunk)] : []), frameOf('[DONE]')].join(''));
};

const answers: Readonly<Record<string, Answer>> = {
  'cut/mid': (response) => {
    open(response);
    response.end(begun);
  },
  'cut/done': (response) => {
    open(response);
    response.end(begun + frameOf('[DONE]'));
  },
  'reset/mid': (response) => {
    open(response);
    response.write(begun, () => response.destroy());
  },
  'err/mid': (response) => {
    open(response);
    response.end(begun + frameOf('{"error":{"message":"overloaded","type":"server_error","code":"busy"}}'));
  },
  'half-event': (response) => {
    open(response);
    response.end(`${begun}data: {"choices":[{"index":0,"del`);
  },
  'no-json': (response) => {
    open(response);
    response.end(`${begun}data: <html>\n\n`);
  },
  'hang/mid': (response) => {
    open(response);
    response.write(begun);
  },
  'utf8-split': (response) => {
    open(response);
    void trickle(response, [...whole, frameOf('[DONE]')].join(''));
  },
  crlf: (response) => {
    open(response);
    response.end(`: hello\r\n\r\n${[...whole, frameOf('[DONE]')].join('').replaceAll('\n', '\r\n')}`);
  },
  'no-usage': (response, body) => {
    if (body['stream'] !== true) return void response.end(wholeAnswer({}));
    open(response);
    return void response.end([...whole, frameOf('[DONE]')].join(''));
  },
  'no-done': (response) => {
    open(response);
    response.end([...whole].join(''));
  },
  ratelimit: (response) => refuse(response, 429, 'slow down', { 'retry-after': '7' }),
  'away-for-30': (response) => refuse(response, 503, 'busy', { 'retry-after': '30' }),
  'away-for-a-day': (response) => refuse(response, 503, 'busy', { 'retry-after': '86400' }),
  'fail-then-refuse': (response, _body, nth) => refuse(response, nth === 0 ? 500 : 400, 'no'),
  'fail-thrice': (response, body, nth) =>
    nth < 3 ? refuse(response, 500, 'try again') : answerWell(response, body, nth),
  'err/first': (response) => {
    open(response);
    response.end(frameOf('{"error":{"message":"this prompt is refused","type":"server_error","code":"filtered"}}'));
  },
  nothing: (response) => {
    open(response);
    response.end(': nothing\n\n');
  },
  // As servers send calls that do not count them.
  'calls-uncounted': (response) => {
    open(response);
    const call = (more: object): string => frameOf(chunkOf({ tool_calls: [{ type: 'function', ...more }] }));
    response.end(
      [
        call({ id: 'a', function: { name: 'add', arguments: '{"a":' } }),
        call({ function: { arguments: '1}' } }),
        call({ id: 'b', index: null, function: { name: 'add', arguments: '{}' } }),
        frameOf(
          chunkOf({
            tool_calls: [{ id: 'a', function: { arguments: ' ' } }, { function: { name: 'sub', arguments: '{}' } }],
          }),
        ),
        frameOf(chunkOf({}, 'tool_calls')),
        frameOf('[DONE]'),
      ].join(''),
    );
  },
  'fail-then-ok': (response, body, nth) =>
    nth < 2 ? refuse(response, 500, 'try again') : answerWell(response, body, nth),
  'begins-badly-then-ok': (response, body, nth) => {
    if (nth > 0) return answerWell(response, body, nth);
    open(response);
    return void response.end(': nothing\n\n');
  },
  fail: (response) => refuse(response, 500, 'broken'),
  'bad-request': (response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(
      '{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}',
    );
  },
  // As servers say it that refuse what they do not know, and models that count their thoughts.
  strict: (response, body, nth) => {
    const unknown = ['stream_options', 'seed'].find((name) => name in body);
    if (unknown === undefined) return answerWell(response, body, nth);
    return refuse(response, 400, `Unrecognized request argument supplied: ${unknown}`);
  },
  'new-name': (response, body, nth) => {
    if (!('max_tokens' in body)) return answerWell(response, body, nth);
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const error = { message, type: 'invalid_request_error', param: 'max_tokens', code: 'unsupported_parameter' };
    return answerJson(response, 400, { error });
  },
  'old-name': (response, body, nth) =>
    ['max_completion_tokens', 'stream_options'].some((name) => name in body)
      ? refuse(response, 422, `Extra inputs are not permitted: ${Object.keys(body).join(', ')}`)
      : answerWell(response, body, nth),
  'too-many': (response) => refuse(response, 400, 'max_tokens is too large: 9. This model supports at most 8'),
  'bad-key': (response) => refuse(response, 401, 'Incorrect key: sk-secret'),
  redirect: (response) => {
    response.writeHead(302, { location: 'http://127.0.0.1:1/' });
    response.end();
  },
  page: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<html>');
  },
  'short-length': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' });
    response.write(wholeAnswer(), () => response.destroy());
  },
  huge: (response) => {
    open(response);
    response.end(
      frameOf(chunkOf({ content: 'x'.repeat(4_000_000) })) + frameOf(chunkOf({}, 'stop')) + frameOf('[DONE]'),
    );
  },
  hang: () => {},
};

export const openModelProvider = (): Promise<ModelProvider> =>
  openProviderServer(
    'v1',
    ({ body }) => String(body['model']),
    (response, { path, body }, nth) => {
      if (!path.endsWith('/embeddings')) return (answers[String(body['model'])] ?? answerWell)(response, body, nth);
      const data = [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }];
      const used = { prompt_tokens: 3, total_tokens: 3 };
      return answerJson(response, 200, { object: 'list', data, model: 'up', usage: used });
    },
  );
