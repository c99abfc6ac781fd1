// WebSocketRequestResponsePair: a message that the engine answers for a durable object, and the response. Workers
// create it.
import { requireArguments, toUsvString } from '../../web/webidl.ts';

export class WebSocketRequestResponsePair {
  readonly #request: string;
  readonly #response: string;
  constructor(request: unknown, response: unknown) {
    requireArguments(arguments.length, 2, 'WebSocketRequestResponsePair');
    this.#request = toUsvString(request);
    this.#response = toUsvString(response);
  }
  get request(): string {
    return this.#request;
  }
  get response(): string {
    return this.#response;
  }
}
