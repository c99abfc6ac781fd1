// util.parseArgs: options and positionals of a command line. Bundled with node:util.

interface Option {
  readonly type: 'boolean' | 'string';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: unknown;
}

interface Config {
  readonly args?: readonly string[];
  readonly options?: Readonly<Record<string, Option>>;
  readonly strict?: boolean;
  readonly allowPositionals?: boolean;
  readonly allowNegative?: boolean;
}

interface Parsed {
  readonly values: Record<string, unknown>;
  readonly positionals: string[];
}

function refused(code: string, message: string): TypeError {
  return Object.assign(new TypeError(message), { code: `ERR_PARSE_ARGS_${code}` });
}

export function parseArgs({
  args = [],
  options = {},
  strict = true,
  allowPositionals = !strict,
  allowNegative = false,
}: Config = {}): Parsed {
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const positionals: string[] = [];
  const put = (name: string, value: unknown): void => {
    if (options[name]?.multiple === true) values[name] = [...((values[name] as unknown[] | undefined) ?? []), value];
    else values[name] = value;
  };
  const option = (name: string, shown: string): Option | undefined => {
    const known = Object.hasOwn(options, name) ? options[name] : undefined;
    if (known === undefined && strict) throw refused('UNKNOWN_OPTION', `Unknown option '${shown}'`);
    return known;
  };
  const rest = [...args];
  const take = (name: string, shown: string, inline: string | undefined): void => {
    const negated =
      allowNegative && inline === undefined && !Object.hasOwn(options, name) && name.startsWith('no-')
        ? name.slice(3)
        : null;
    if (negated !== null && options[negated]?.type === 'boolean') {
      put(negated, false);
      return;
    }
    const known = option(name, shown);
    if (known?.type === 'string') {
      const value = inline ?? (rest[0] !== undefined && (!strict || !/^-./.test(rest[0])) ? rest.shift() : undefined);
      if (value === undefined && strict)
        throw refused('INVALID_OPTION_VALUE', `Option '${shown} <value>' argument missing`);
      put(name, value ?? true);
    } else {
      if (inline !== undefined && known !== undefined && strict)
        throw refused('INVALID_OPTION_VALUE', `Option '${shown}' does not take an argument`);
      put(name, inline ?? true);
    }
  };
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') {
      positionals.push(...rest.splice(0));
    } else if (arg.startsWith('--')) {
      const at = arg.indexOf('=');
      const name = at < 0 ? arg.slice(2) : arg.slice(2, at);
      take(name, `--${name}`, at < 0 ? undefined : arg.slice(at + 1));
    } else if (arg.length > 1 && arg.startsWith('-')) {
      shorts(arg.slice(1));
    } else {
      positionals.push(arg);
    }
  }
  function shorts(letters: string): void {
    for (let at = 0; at < letters.length; at++) {
      const letter = letters[at]!;
      const name = Object.keys(options).find((key) => options[key]?.short === letter) ?? letter;
      const inline = options[name]?.type === 'string' && at + 1 < letters.length ? letters.slice(at + 1) : undefined;
      take(name, `-${letter}`, inline);
      if (inline !== undefined) return;
    }
  }
  if (positionals.length > 0 && !allowPositionals)
    throw refused(
      'UNEXPECTED_POSITIONAL',
      `Unexpected argument '${positionals[0]}'. This command does not take positional arguments`,
    );
  for (const [name, { default: preset }] of Object.entries(options))
    if (preset !== undefined && !(name in values)) values[name] = preset;
  return { values, positionals };
}
