// A sentence from the API; text between backticks is shown as code.

/** @example <Prose text="Run `platform doctor`." /> */
export function Prose({ text }: { readonly text: string }) {
  return text.split(CODE).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}

/** After splitting at backticks, the parts at odd positions are code. */
const CODE = /`([^`\n]+)`/;
