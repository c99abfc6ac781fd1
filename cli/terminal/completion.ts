// Completion scripts for bash, zsh and fish, generated from the command tree. Names and summaries are trusted, so only
// quotes are escaped.
import type { ArgsDef } from 'citty';
import type { Entry } from './entries.ts';

/** Completions after some words. */
interface CompletionNode {
  /** The words, such as `env list`; '' is `platform` alone. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly summary: string }[];
}

/** Completions of each command: subcommands, then flags. */
export async function completionNodes(
  among: Readonly<Record<string, Entry>>,
  path: readonly string[] = [],
): Promise<CompletionNode[]> {
  const words = Object.entries(among).map(([word, { summary }]) => ({ word, summary }));
  const below = await Promise.all(
    Object.entries(among).map(async ([name, entry]) => {
      if ('commands' in entry) return completionNodes(entry.commands, [...path, name]);
      return [{ path: [...path, name].join(' '), words: await flagsOf(entry) }];
    }),
  );
  return [{ path: path.join(' '), words }, ...below.flat()];
}

async function flagsOf(entry: Entry): Promise<CompletionNode['words']> {
  if (!('load' in entry)) return [];
  const { command } = await entry.load();
  const definitions = ((await command.args) ?? {}) as ArgsDef;
  return Object.entries(definitions).flatMap(([name, definition]) => {
    if (definition.type === 'positional') return [];
    const isOn = definition.type === 'boolean' && definition.default === true;
    return [{ word: isOn ? `--no-${name}` : `--${name}`, summary: definition.description ?? '' }];
  });
}

/** Generators by shell. */
export const scripts = {
  bash: (
    nodes: readonly CompletionNode[],
  ): string => `# Completion of platform for bash: source <(platform completion bash)
_platform() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" key="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$key $word" in
${casesOf(nodes, '      ')}
    esac
  done
  local words=""
  case "$key" in
${nodes.map(({ path, words }) => `    ${quote(spaced(path))}) words="${words.map(({ word }) => word).join(' ')}" ;;`).join('\n')}
  esac
  if [[ "$key" == " api" && "$cur" == /* ]]; then words="$(platform completion paths 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default 2>/dev/null
}
complete -F _platform platform`,
  zsh: (nodes: readonly CompletionNode[]): string => `#compdef platform
# Completion of platform for zsh: source <(platform completion zsh)
_platform() {
  local key="" word i
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$key $word" in
${casesOf(nodes, '      ')}
    esac
  done
  local -a found
  case "$key" in
${nodes.map(({ path, words }) => `    ${quote(spaced(path))}) found=(${words.map(({ word, summary }) => quote(`${word}:${summary}`)).join(' ')}) ;;`).join('\n')}
  esac
  if [[ "$key" == " api" && "$PREFIX" == /* ]]; then found=(\${(f)"$(platform completion paths 2>/dev/null)"}); fi
  _describe 'platform' found || _files
}
if [[ "$funcstack[1]" == "_platform" ]]; then _platform "$@"; else compdef _platform platform; fi`,
  fish: (
    nodes: readonly CompletionNode[],
  ): string => `# Completion of platform for fish: platform completion fish | source
function __platform_at
  set -l key ""
  for word in (commandline -opc)[2..-1]
    switch "$key $word"
${nodes
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      case ${quote(spaced(path))}\n        set key ${quote(spaced(path))}`)
  .join('\n')}
    end
  end
  test "$key" = "$argv[1]"
end
${nodes
  .flatMap(({ path, words }) =>
    words.map(({ word, summary }) => {
      const condition = `-n ${quote(`__platform_at "${spaced(path)}"`)}`;
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c platform ${condition} ${what} -d ${quote(summary)}`;
    }),
  )
  .join('\n')}
complete -c platform -n '__platform_at " api"' -f -a '(platform completion paths 2>/dev/null)'`,
} as const;

/** `key` starts with a space, since the scripts append word by word. */
function spaced(path: string): string {
  return path === '' ? '' : ` ${path}`;
}

function casesOf(nodes: readonly CompletionNode[], indent: string): string {
  return nodes
    .filter(({ path }) => path !== '')
    .map(({ path }) => `${indent}${quote(spaced(path))}) key=${quote(spaced(path))} ;;`)
    .join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
