// Output of `platform dev` about a framework's dev server. Called by commands/dev.ts.
import { printFailure } from '../../terminal/failure.ts';
import { coloured } from '../../terminal/printed.ts';
import type { Shell } from '../../terminal/shell.ts';
import type { ServerSessionEvents } from './session.ts';

/** Details printed when the server is ready. */
interface Announced {
  readonly url: string;
  readonly dashboardUrl: string | null;
  /** Provider of the models, for the output; null if AI is not used. */
  readonly ai: () => string | null;
  /** Start of the program, by `performance.now()`. */
  readonly began: number;
}

/** @param name the name of the framework or the script */
export function serverOutput(shell: Shell, name: string, announced: Announced): ServerSessionEvents {
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
          shell.paint('dim', ` It restarts in ${seconds(pauseMs)}, or when you save a file of the project`),
      ),
    silent: ({ ms, otherPort }) =>
      shell.err(
        shell.paint('yellow', `The dev server of ${name} is not listening at ${url} after ${seconds(ms)}`) +
          (otherPort === null
            ? '. Make it listen on the port in the variable PORT'
            : `, but on port ${otherPort}: make it use the port in the variable PORT, or set "dev: {port: ${otherPort}}" in platform.yaml`),
      ),
    failed(failures) {
      for (const failure of failures) printFailure(shell, failure);
      shell.err(shell.paint('yellow', 'The previous configuration remains active'));
    },
    restarting: (cause) => shell.out(shell.paint('dim', `${cause} has changed: restarting the server`)),
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
