// Offers the code cache of one isolate's worker when the isolate has served, because V8 has then compiled the functions
// that serving needs. Made by isolate.ts when it loads the worker.
import { formStages, type CompiledForms, type FormSource, type FormStage } from './compiled-forms.ts';

/** The code of a worker. */
interface Code {
  readonly owner: string;
  readonly hash: string;
  readonly text: { readonly length: number };
}

export class FormOffers {
  readonly #forms: CompiledForms;
  readonly #code: Code;
  readonly #source: FormSource;
  /** Stage of the known code cache. */
  #stage: FormStage;
  /** Number of requests and other events received. */
  #served = 0;

  constructor(forms: CompiledForms, code: Code, stage: FormStage, source: FormSource) {
    this.#forms = forms;
    this.#code = code;
    this.#stage = stage;
    this.#source = source;
  }

  /** Called when requests and other events enter the isolate. */
  served(requests: number): void {
    this.#served += requests;
    const { next } = formStages[this.#stage];
    if (next === undefined || this.#served < formStages[next].requestsMin) return;
    this.#stage = next;
    const { owner, hash, text } = this.#code;
    this.#forms.offer(owner, hash, text.length, next, this.#source);
  }
}
