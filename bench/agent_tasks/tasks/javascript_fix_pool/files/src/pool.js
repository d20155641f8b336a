/** Runs jobs, functions that return promises, at most `limit` at a time. */
export function runAll(jobs, limit = 4) {
  const results = [];
  let next = 0;
  let running = 0;
  return new Promise((resolve, reject) => {
    function startMore() {
      if (next === jobs.length && running === 0) {
        resolve(results);
      }
      while (running < limit && next < jobs.length) {
        const job = jobs[next];
        next += 1;
        running += 1;
        job().then((value) => {
          results.push(value);
          running -= 1;
          startMore();
        });
      }
    }
    startMore();
  });
}
