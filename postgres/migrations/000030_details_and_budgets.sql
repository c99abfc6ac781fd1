-- Details of stored requests; limits of AI on cost, and alerts on such a budget.
SET LOCAL search_path = control;

-- {query, headers, client, requestBytes, responseBytes}: `RequestDetails` of core/telemetry.ts. Null: an event, or from
-- before this column.
ALTER TABLE invocation ADD COLUMN request jsonb;

ALTER TABLE alert_rule DROP CONSTRAINT alert_rule_kind_check;
ALTER TABLE alert_rule ADD CONSTRAINT alert_rule_kind_check
  CHECK (kind IN ('error_rate', 'latency', 'cpu_budget', 'ai_budget', 'certificate', 'disk'));

-- Takes room for one call from every limit, or from none: an amount is held, tokens or millionths of the currency; where
-- it is null, the limit is on requests, and one is used at once. Answers what each limit had before, and whether it was
-- taken. What the process has to settle of these limits is settled first.
DROP FUNCTION ai_reserve(text, text[], timestamptz[], timestamptz[], bigint[], bigint[], boolean[], bigint[], bigint);
CREATE FUNCTION ai_reserve(of_holder text, keys text[], starts timestamptz[], ends timestamptz[],
  used_more bigint[], held_less bigint[], most bigint[], amounts bigint[])
RETURNS TABLE (used bigint, held bigint, is_taken boolean) LANGUAGE plpgsql AS $$
DECLARE
  fits boolean;
  used_before bigint[];
  held_before bigint[];
BEGIN
  PERFORM control.ai_settle(of_holder, keys, starts, ends, used_more, held_less);
  -- The rows are locked: a statement that begins now sees what all others have taken.
  SELECT array_agg(l.used ORDER BY l.n), array_agg(l.held ORDER BY l.n),
         -- A call that is larger than all that is left passes where it is the only one: it passes the limit alone.
         bool_and(CASE WHEN l.amount IS NULL THEN l.used < l.most
           ELSE l.used + l.held + l.amount <= l.most OR (l.held = 0 AND l.used < l.most) END)
    INTO used_before, held_before, fits
    FROM (
      SELECT w.n, w.amount, w.most, c.used, coalesce((
          SELECT sum(h.amount) FROM control.ai_held h JOIN control.ai_holder o ON o.id = h.holder
           WHERE h.key = w.key AND h.starts_at = w.starts_at AND o.lease_until > clock_timestamp()), 0)::bigint AS held
        FROM unnest(keys, starts, amounts, most) WITH ORDINALITY AS w (key, starts_at, amount, most, n)
        JOIN control.ai_counter c ON c.key = w.key AND c.starts_at = w.starts_at
    ) AS l;
  IF fits THEN
    UPDATE control.ai_counter c SET used = c.used + 1
      FROM unnest(keys, starts, amounts) AS w (key, starts_at, amount)
     WHERE c.key = w.key AND c.starts_at = w.starts_at AND w.amount IS NULL;
    INSERT INTO control.ai_held AS h (key, starts_at, holder, amount)
    SELECT w.key, w.starts_at, of_holder, w.amount FROM unnest(keys, starts, amounts) AS w (key, starts_at, amount)
     WHERE w.amount IS NOT NULL
        ON CONFLICT (key, starts_at, holder) DO UPDATE SET amount = h.amount + excluded.amount;
  END IF;
  RETURN QUERY SELECT b.used, b.held, fits FROM unnest(used_before, held_before) WITH ORDINALITY AS b (used, held, n)
   ORDER BY b.n;
END $$;
