// Form fields for the AI limits of an organization, a project or a key, per minute, day or month. A limit on cost is a
// budget.
import { Cross2Icon, PlusIcon } from '@radix-ui/react-icons';
import { Button, IconButton } from '../../components/button.tsx';
import { FieldRow, Input, Select } from '../../components/field.tsx';
import type { AiLimit } from '../../queries/ai.ts';

/** Form state: the number may be empty. */
export interface TypedLimit extends Omit<AiLimit, 'most'> {
  readonly most: string;
}

export const typed = (limits: readonly AiLimit[]): readonly TypedLimit[] =>
  limits.map((limit) => ({ ...limit, most: String(limit.most) }));
export const untyped = (limits: readonly TypedLimit[]): AiLimit[] =>
  limits.map((limit) => ({ ...limit, most: Number(limit.most) }));

const choices = (['tokens', 'requests', 'cost'] as const).flatMap((of) =>
  (['minute', 'day', 'month'] as const).flatMap((per) => (of === 'cost' && per === 'minute' ? [] : [{ of, per }])),
);
const [COUNT_MAX, COST_MAX] = [1e12, 1e8];
const idOf = ({ of, per }: Pick<AiLimit, 'of' | 'per'>): string => `${of} per ${per}`;

interface LimitFieldsProps {
  readonly limits: readonly TypedLimit[];
  readonly onChange: (limits: readonly TypedLimit[]) => void;
}

export function LimitFields({ limits, onChange }: LimitFieldsProps) {
  const free = choices.filter((one) => !limits.some((limit) => idOf(limit) === idOf(one)));
  const change = (at: number, more: Partial<TypedLimit>): void =>
    onChange(limits.map((limit, n) => (n === at ? { ...limit, ...more } : limit)));
  return (
    <>
      {limits.map((limit, at) => (
        <FieldRow key={idOf(limit)}>
          <Input
            aria-label={`Maximum ${idOf(limit)}`}
            type="number"
            required
            min={0}
            max={limit.of === 'cost' ? COST_MAX : COUNT_MAX}
            step={limit.of === 'cost' ? 'any' : 1}
            value={limit.most}
            onChange={({ target }) => change(at, { most: target.value })}
          />
          <Select
            aria-label={`Unit: ${idOf(limit)}`}
            value={idOf(limit)}
            onChange={({ target }) =>
              change(
                at,
                choices.find((one) => idOf(one) === target.value)!,
              )
            }
          >
            {[limit, ...free].map((one) => (
              <option key={idOf(one)} value={idOf(one)}>
                {idOf(one)}
              </option>
            ))}
          </Select>
          <IconButton
            label={`Remove the limit of ${idOf(limit)}`}
            onClick={() => onChange(limits.filter((_, n) => n !== at))}
          >
            <Cross2Icon />
          </IconButton>
        </FieldRow>
      ))}
      {free.length > 0 && (
        <div>
          <Button size="small" onClick={() => onChange([...limits, { ...free[0]!, most: '' }])}>
            <PlusIcon /> Add limit
          </Button>
        </div>
      )}
    </>
  );
}
