// The global `navigator`, by which libraries detect the runtime.
import { finishInterface, internal } from './webidl.ts';

export class Navigator {
  #userAgent = 'platform';
  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
  }
  get userAgent(): string {
    return this.#userAgent;
  }
  get hardwareConcurrency(): number {
    void this.#userAgent;
    return 1;
  }
  get language(): string {
    void this.#userAgent;
    return 'en';
  }
  get languages(): readonly string[] {
    void this.#userAgent;
    return languages;
  }
}
finishInterface(Navigator);
const languages = Object.freeze(['en']);

export const navigator = new Navigator(internal);
