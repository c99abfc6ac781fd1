// Finds the prebuilt program that opens a terminal (terminal.c), for the machines that sandboxes run on.
import path from 'node:path';

/** Path of the program from the repository's root. */
export const terminalProgram = (architecture: string): string =>
  `sandbox/agent/terminal/prebuilt/terminal-linux-${architecture}`;

export const TERMINAL_ARCHITECTURES = ['x64', 'arm64'] as const;

/** The path for this machine; null if no program was built for it. */
export function ownTerminalProgram(): string | null {
  const isBuilt = process.platform === 'linux' && (TERMINAL_ARCHITECTURES as readonly string[]).includes(process.arch);
  return isBuilt ? path.join(import.meta.dirname, '../../..', terminalProgram(process.arch)) : null;
}
