// A provider of models that costs as little as it can: the same answer of 1 KB to everything, or the same stream; from
// the model `slow` a chunk every second until the client goes.
// node model-upstream.mjs <port>
import { createServer } from 'node:http';

const port = Number(process.argv[2]);
const CHUNKS = 20;
const head = { id: 'chatcmpl-1', created: 1, model: 'echo' };
const usage = { prompt_tokens: 300, completion_tokens: 200, total_tokens: 500 };
const message = { role: 'assistant', content: 'All work and no play. '.repeat(45) };
const answer = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage,
  }),
);
const chunkOf = (delta, finish = null, more = {}) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const word = chunkOf({ content: 'All work and no play. ' });
const first = chunkOf({ role: 'assistant', content: '' });
const last = `${chunkOf({}, 'stop')}data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`;

const slow = new Set();
setInterval(() => {
  for (const response of slow) response.write(word);
}, 1000);

createServer((request, response) => {
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.byteLength });
      response.end(answer);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(first);
    if (!body.includes('"model":"slow"')) {
      response.end(word.repeat(CHUNKS) + last);
      return;
    }
    slow.add(response);
    response.on('close', () => slow.delete(response));
  });
}).listen(port, '127.0.0.1', 4096, () => process.send?.('ready'));
