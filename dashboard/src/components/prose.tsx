// A sentence of the API: what it has between backticks is shown as code.

/** @example <Prose text="Run `platform doctor`." /> */
export function Prose({ text }: { readonly text: string }) {
  return text.split(CODE).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}

/** Its group is at each odd position of a split text. */
const CODE = /`([^`\n]+)`/;
