// What `platform dev` prints of a framework's dev server, among that one's own lines. Called by commands/dev.ts.
import { printFailure } from '../../terminal/failure.ts';
import { coloured } from '../../terminal/printed.ts';
import type { Shell } from '../../terminal/shell.ts';
import type { ServerSessionEvents } from './session.ts';

/** What is said once the project answers. */
interface Announced {
  readonly url: string;
  readonly dashboardUrl: string | null;
  /** Where answers of models come from; null: nobody asks, or there is nothing to say. */
  readonly ai: () => string | null;
  /** When the program started, by `performance.now()`. */
  readonly began: number;
}

/** @param name of the framework, or of what is run */
export function toldOfServer(shell: Shell, name: string, announced: Announced): ServerSessionEvents {
  const { url } = announced;
  return {
    line: (text, stream) => (stream === 'out' ? shell.out : shell.err)(coloured(text, shell.isTerminal)),
    listening(isFirst) {
      if (isFirst) ready(shell, announced);
      else shell.out(`${shell.paint('green', 'Ready again')} ${shell.paint('cyan', url)}`);
    },
    died: ({ how, advice, pauseMs }) =>
      shell.err(
        shell.paint('yellow', `The dev server of ${name} ${how}${advice === null ? '' : `. ${advice}`}`) +
          shell.paint(
            'dim',
            ` It starts again in ${seconds(pauseMs)}, or when a file of the project's folder is saved`,
          ),
      ),
    silent: ({ ms, otherPort }) =>
      shell.err(
        shell.paint('yellow', `The dev server of ${name} has not listened at ${url} for ${seconds(ms)}`) +
          (otherPort === null
            ? '. It is told the port by the variable PORT and, where its framework has one, a flag: does it take it?'
            : `, but names port ${otherPort}: let it take the port of the variable PORT, or set "dev: {port: ${otherPort}}" in platform.yaml`),
      ),
    failed(failures) {
      for (const failure of failures) printFailure(shell, failure);
      shell.err(shell.paint('yellow', 'What was there before is used on'));
    },
    restarting: (cause) => shell.out(shell.paint('dim', `${cause} has changed: the server starts again`)),
    warned: (message) => shell.err(shell.paint('yellow', message)),
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

function ready(shell: Shell, { url, dashboardUrl, ai, began }: Announced): void {
  const time = ` in ${Math.round(performance.now() - began)} ms`;
  shell.out(`${shell.paint('green', 'Ready')} ${shell.paint('cyan', url)}${shell.paint('dim', time)}`);
  if (dashboardUrl !== null) shell.out(`${shell.paint('dim', 'Dashboard')} ${shell.paint('cyan', dashboardUrl)}`);
  const said = ai();
  if (said !== null) shell.out(`${shell.paint('dim', 'AI')} ${said}`);
}
