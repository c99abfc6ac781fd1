// Checks of variables that belong together, and of lists. Used by the readers of the API process's settings. Pure.

/** Entries of a list with commas. */
export function listOf(text: string): string[] {
  return text.split(',').flatMap((entry) => entry.trim() || []);
}

/** The problem with variables of which either all or none must be set, or null. */
export function groupProblem(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): string | null {
  const missing = names.filter((name) => (environment[name]?.trim() ?? '') === '');
  if (missing.length === 0 || missing.length === names.length) return null;
  const given = names.find((name) => !missing.includes(name));
  const are = missing.length === 1 ? 'is' : 'are';
  return `${missing.join(' and ')} ${are} not set, but ${given} is: set all of ${names.join(', ')}, or none`;
}
