// Search parameters of the pages of bindings, and functions that validate them: each drops invalid values.

/** Search parameters of a page that has no further parameters. */
interface Branched {
  readonly branch?: string | undefined;
}

const databaseViews = ['columns', 'sql', 'slow', 'copies', 'migrations', 'metrics'] as const;

/** Search parameters of a database. */
export interface DatabaseSearch extends Branched {
  readonly view?: (typeof databaseViews)[number] | undefined;
  readonly table?: string | undefined;
  readonly offset?: number | undefined;
  readonly order?: string | undefined;
  readonly descending?: boolean | undefined;
  readonly column?: string | undefined;
  readonly search?: string | undefined;
  /** Index of the open row on the page. */
  readonly row?: number | undefined;
}

/** Search parameters of a list. */
export interface ListSearch extends Branched {
  readonly prefix?: string | undefined;
  /** The open entry. */
  readonly key?: string | undefined;
}

/** Search parameters of a queue. */
export interface QueueSearch extends Branched {
  readonly list?: 'waiting' | undefined;
  readonly message?: string | undefined;
}

/** Search parameters of a workflow. */
export interface WorkflowSearch extends Branched {
  readonly status?: string | undefined;
  readonly run?: string | undefined;
}

/** Search parameters of users. */
export interface UserSearch extends Branched {
  readonly email?: string | undefined;
  readonly user?: string | undefined;
}

type Given = Record<string, unknown>;

function texts<Name extends string>(given: Given, names: readonly Name[]): { readonly [Key in Name]?: string } {
  const found: { [Key in Name]?: string } = {};
  for (const name of names) {
    const value = given[name];
    // A value of digits only is parsed as a number.
    if (typeof value === 'number') found[name] = String(value);
    else if (typeof value === 'string' && value !== '') found[name] = value;
  }
  return found;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

export const branchSearch = (given: Given): Branched => texts(given, ['branch']);

export const databaseSearch = (given: Given): DatabaseSearch => ({
  ...texts(given, ['branch', 'table', 'order', 'column', 'search']),
  ...(databaseViews.some((one) => one === given['view']) && { view: given['view'] as DatabaseSearch['view'] }),
  ...(count(given['offset']) && { offset: count(given['offset']) }),
  ...(count(given['row']) !== undefined && { row: count(given['row']) }),
  ...(given['descending'] === true && { descending: true }),
});

export const listSearch = (given: Given): ListSearch => texts(given, ['branch', 'prefix', 'key']);

export const queueSearch = (given: Given): QueueSearch => ({
  ...texts(given, ['branch', 'message']),
  ...(given['list'] === 'waiting' && { list: 'waiting' }),
});

export const workflowSearch = (given: Given): WorkflowSearch => texts(given, ['branch', 'status', 'run']);

export const userSearch = (given: Given): UserSearch => texts(given, ['branch', 'email', 'user']);
