// Buttons, fields, dialogs: what people act with.
import { element, fill, type Child } from './element.ts';

/** A button; while what it does is under way it cannot be pressed again. */
export function button(
  label: string,
  act: () => unknown,
  options: { readonly kind?: 'main' | 'danger'; readonly about?: string } = {},
): HTMLButtonElement {
  const made = element(
    'button',
    { type: 'button', class: options.kind, 'aria-label': options.about && `${label} ${options.about}` },
    label,
  );
  made.addEventListener('click', () => {
    made.disabled = true;
    (async () => act())()
      .catch((error: unknown) => dialog('That did not work', 'Close', problem(error), () => Promise.resolve()))
      .finally(() => (made.disabled = false));
  });
  return made;
}

/** A field with its label. */
export function field<Control extends HTMLElement>(label: string, control: Control, grow = false): HTMLLabelElement {
  return element('label', { class: grow && 'grow' }, label, control);
}

/** A choice of one among a few. */
export function tabs(labels: readonly string[], chosen: number, choose: (index: number) => void): HTMLElement {
  return element(
    'div',
    { class: 'tabs', role: 'group' },
    labels.map((label, index) =>
      element(
        'button',
        { type: 'button', 'aria-pressed': String(index === chosen), onclick: () => choose(index) },
        label,
      ),
    ),
  );
}

/** Shows a dialog with a form; resolves with whether it was sent. `send` may fail: the dialog says why, and stays. */
export function dialog(title: string, label: string, content: Child, send: () => Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const trouble = element('div', { role: 'alert' });
  const cancel = element('button', { type: 'button' }, 'Cancel');
  const form = element(
    'form',
    { class: 'stack' },
    element('h3', {}, title),
    content,
    trouble,
    element('div', { class: 'row' }, element('button', { class: 'main' }, label), cancel),
  );
  const made = element('dialog', { 'aria-label': title }, form);
  let sent = false;
  cancel.addEventListener('click', () => made.close());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // What throws at once, such as JSON that is none, is told like what fails later.
    (async () => send())().then(
      () => {
        sent = true;
        made.close();
      },
      (error: unknown) => fill(trouble, problem(error)),
    );
  });
  made.addEventListener('close', () => {
    made.remove();
    resolve(sent);
  });
  document.body.append(made);
  made.showModal();
  return promise;
}

/** Asks before something is lost. */
export function confirmed(question: string, label: string, act: () => Promise<unknown>): Promise<boolean> {
  return dialog(question, label, null, act);
}

/** What went wrong. */
export function problem(error: unknown): HTMLElement {
  return element('p', { class: 'problem', role: 'alert' }, error instanceof Error ? error.message : String(error));
}
