// A provider on the wire of Google's Gemini API, as its public documentation has it: it refuses what the API refuses,
// and answers as the name of the model says. Its own SDK talks to it in test/integration/provider-sdks.test.ts.
import type { ServerResponse } from 'node:http';
import {
  answerJson,
  openProviderServer,
  openStream,
  trickle,
  type Asked,
  type ModelProvider,
} from './provider-server.ts';

export const GOOGLE_SAYS = 'Grüße 🌍 from Gemini';
export const GOOGLE_THINKS = 'A greeting is wanted.';
export const GOOGLE_SIGNATURE = 'EjQKMgEMc2lnbmVk';
export const googleUsage = {
  promptTokenCount: 20,
  candidatesTokenCount: 9,
  thoughtsTokenCount: 4,
  cachedContentTokenCount: 7,
  totalTokenCount: 33,
} as const;

type Fields = Readonly<Record<string, unknown>>;

const FIELDS = new Set(
  'contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent model store'.split(' '),
);
const GENERATION_FIELDS = new Set(
  'temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema thinkingConfig'.split(
    ' ',
  ),
);

class Refused extends Error {}

interface Content {
  readonly role?: string;
  readonly parts: readonly Fields[];
}

/** @throws {Refused} as the API says what is wrong. */
function check(model: string, body: Fields): void {
  for (const name of Object.keys(body))
    if (!FIELDS.has(name))
      throw new Refused(`Invalid JSON payload received. Unknown name "${name}": Cannot find field.`);
  for (const name of Object.keys((body['generationConfig'] ?? {}) as object))
    if (!GENERATION_FIELDS.has(name)) throw new Refused(`Unknown name "${name}" at 'generation_config'`);
  let calls: Fields[] = [];
  const contents = body['contents'] as Content[];
  if (contents.length === 0) throw new Refused('* GenerateContentRequest.contents: contents is not specified');
  for (const { role, parts } of contents) {
    if (role !== undefined && role !== 'user' && role !== 'model')
      throw new Refused('Please use a valid role: user, model.');
    if (parts.length === 0) throw new Refused('contents.parts must not be empty.');
    const responses = parts.flatMap((part) => (part['functionResponse'] ? [part['functionResponse'] as Fields] : []));
    if (calls.length !== responses.length)
      throw new Refused('the number of function response parts is equal to the number of function call parts');
    for (const [index, call] of calls.entries()) {
      if (call['name'] !== responses[index]!['name'] || call['id'] !== responses[index]!['id'])
        throw new Refused('function response parts have to fit the function call parts');
      if (typeof responses[index]!['response'] !== 'object') throw new Refused('function_response.response: a struct');
    }
    const calling = parts.filter((part) => part['functionCall'] !== undefined);
    const signature = calling[0]?.['thoughtSignature'];
    const isSigned = signature === GOOGLE_SIGNATURE || signature === 'skip_thought_signature_validator';
    if (calling.length > 0 && model.startsWith('gemini-3') && !isSigned)
      throw new Refused('Function call is missing a thought_signature in functionCall parts.');
    calls = calling.map((part) => part['functionCall'] as Fields);
  }
}

/** Parts of the answer; each of them is an event of a stream. */
function answerOf(model: string, body: Fields): Fields[] {
  const last = (body['contents'] as Content[]).at(-1)!.parts;
  const results = last.flatMap((part) => (part['functionResponse'] ? [part['functionResponse'] as Fields] : []));
  const declared = ((body['tools'] ?? []) as { functionDeclarations?: { name: string }[] }[]).flatMap(
    ({ functionDeclarations }) => functionDeclarations ?? [],
  );
  const config = (body['generationConfig'] ?? {}) as Fields;
  const thinks = (config['thinkingConfig'] as Fields | undefined)?.['includeThoughts'] === true;
  const before = thinks ? [{ text: GOOGLE_THINKS, thought: true }] : [];
  if (results.length > 0) {
    const said = results.map(({ response }) => JSON.stringify(response)).join(', ');
    return [...before, { text: 'Results: ' }, { text: said, thoughtSignature: GOOGLE_SIGNATURE }];
  }
  const isThree = model.startsWith('gemini-3');
  if (declared.length > 0)
    return [
      ...before,
      ...declared.map(({ name }, index) => {
        const args = index === 0 ? { city: 'Zürich', at: [1, 2] } : {};
        const id = isThree ? { id: `fc-${index}` } : {};
        const signature = isThree && index === 0 ? { thoughtSignature: GOOGLE_SIGNATURE } : {};
        return { functionCall: { name, args, ...id }, ...signature };
      }),
    ];
  if (config['responseJsonSchema'] !== undefined) return [{ text: '{"city":' }, { text: '"Bern"}' }];
  const pieces = GOOGLE_SAYS.match(/.{1,6}/gsu)!.map((text) => ({ text }));
  return [...before, ...pieces];
}

/** Each event tells the totals so far. */
function eventsOf(model: string, parts: readonly Fields[], finishReason: string): Fields[] {
  const events = parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    const candidate = { content: { role: 'model', parts: [part] }, index: 0, ...(isLast ? { finishReason } : {}) };
    const soFar = Math.floor((googleUsage.candidatesTokenCount * (index + 1)) / parts.length);
    const usageMetadata = { ...googleUsage, candidatesTokenCount: soFar };
    return { candidates: [candidate], usageMetadata, modelVersion: model, responseId: 'resp-1' };
  });
  return events;
}

const frame = (event: Fields): string => `data: ${JSON.stringify(event)}\r\n\r\n`;

function refuse(response: ServerResponse, code: number, status: string, message: string, details?: Fields[]): void {
  answerJson(response, code, { error: { code, message, status, ...(details === undefined ? {} : { details }) } });
}

const failures: Readonly<Record<string, readonly [number, string, string, Fields[]?]>> = {
  'too-long': [400, 'INVALID_ARGUMENT', 'The input token count (1048577) exceeds the maximum number of tokens allowed'],
  'no-model': [404, 'NOT_FOUND', 'models/no-model is not found for API version v1beta'],
  ratelimit: [
    429,
    'RESOURCE_EXHAUSTED',
    'You exceeded your current quota',
    [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }],
  ],
  broken: [500, 'INTERNAL', 'An internal error has occurred'],
  overloaded: [503, 'UNAVAILABLE', 'The model is overloaded'],
};

const UNAVAILABLE = { error: { code: 503, message: 'The model is overloaded', status: 'UNAVAILABLE' } };

const endings: Readonly<Record<string, (response: ServerResponse, frames: readonly string[]) => void>> = {
  'overloaded-mid': (response, frames) => response.end(frames.slice(0, 2).join('') + frame(UNAVAILABLE)),
  'cut-mid': (response, frames) => response.end(frames.slice(0, 2).join('')),
  'half-event': (response, frames) => response.end(frames.slice(0, 2).join('') + frames[2]!.slice(0, -9)),
  'hang-mid': (response, frames) => void response.write(frames.slice(0, 2).join('')),
  'utf8-split': (response, frames) => void trickle(response, frames.join('')),
};

const modelOf = ({ path }: Asked): string => decodeURIComponent(/\/models\/([^:]+):/.exec(path)?.[1] ?? '');

export const openGoogleProvider = (): Promise<ModelProvider> => openProviderServer('v1beta', modelOf, answer);

function answer(response: ServerResponse, asked: Asked): void {
  const { path, headers, body } = asked;
  const model = modelOf(asked);
  const method = /^\/v1(?:beta)?\/models\/[^/:]+:([A-Za-z]+)(\?alt=sse)?$/.exec(path);
  if (method === null) return refuse(response, 404, 'NOT_FOUND', 'Requested entity was not found.');
  if (headers['x-goog-api-key'] !== 'sk-test')
    return refuse(response, 400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
    ]);
  const failure = failures[model];
  if (failure !== undefined) return refuse(response, ...failure);
  if (method[1] === 'batchEmbedContents') {
    const requests = body['requests'] as { model: string; outputDimensionality?: number }[];
    if (requests.some((one) => one.model !== `models/${model}`))
      return refuse(response, 400, 'INVALID_ARGUMENT', 'requests[].model has to be that of the path');
    const values = [0.5, -0.25, 1].slice(0, requests[0]!.outputDimensionality);
    return answerJson(response, 200, { embeddings: requests.map(() => ({ values })) });
  }
  try {
    check(model, body);
  } catch (error) {
    return refuse(response, 400, 'INVALID_ARGUMENT', (error as Error).message);
  }
  if (model === 'blocked')
    return send({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 20 } });
  const parts = answerOf(model, body);
  const finish = model === 'unsafe' ? 'SAFETY' : model === 'malformed' ? 'MALFORMED_FUNCTION_CALL' : 'STOP';
  const frames = eventsOf(model, parts, finish);
  if (method[1] === 'streamGenerateContent') {
    openStream(response);
    const texts = frames.map(frame);
    const end = endings[model] ?? ((to: ServerResponse) => to.end(texts.join('')));
    return void end(response, texts);
  }
  const candidates = [{ content: { role: 'model', parts }, finishReason: finish, index: 0 }];
  return send({ candidates, usageMetadata: googleUsage, modelVersion: model, responseId: 'resp-1' });

  function send(whole: Fields): void {
    if (method![1] !== 'streamGenerateContent') return answerJson(response, 200, whole);
    openStream(response);
    return void response.end(frame(whole));
  }
}
