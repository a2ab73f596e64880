// What each market's looks show: figures, charts, tables and talk of the own seat. Any other market has tables of what
// its looks answer.

import { amount, field, type Known, list, rows, text, type Turn } from "./board-data";
import { begun, type Choice } from "./board-fields";
import { columned, general, grid, inline, money, wordsOf } from "./board-general";
import { bars, charts, closedRounds, count, line, type Move, moves, named, type Open, paid, type Part, points, type Said, talk, THEIRS, xy } from "./board-parts";
import { type Child, foreign, h } from "./dom";
import { number, words } from "./format";
import { isObject, type Json } from "./peer";

export interface Look { tool: string; values: Json; once?: boolean }
export interface View {
  // What this market calls its rounds.
  unit?: string;
  // What to ask of the market now.
  looks: (known: Known) => Look[];
  figures: (known: Known) => [string, string][];
  parts: (known: Known, open: Open) => Part[];
  choices?: (known: Known, parameter: string) => Choice[];
  fill?: (known: Known, tool: string) => Json;
  wanted?: (turn: Turn) => string | undefined;
}

// The rules once: they hold for the whole episode.
const RULES: Look = { tool: "view_rules", values: {}, once: true };

function asked(known: Known, ...looks: Look[]): Look[] {
  const offered = new Set(known.state.reads.map((read) => read.name));
  return [RULES, ...looks].filter((look) => offered.has(look.tool) && !(look.once && known.has(look.tool)));
}

// --- the auction -----------------------------------------------------------------------------------------------------

const auction: View = {
  looks: (known) => asked(known, { tool: "view_my_value", values: {} }, { tool: "view_history", values: {} }, { tool: "read_messages", values: { after: known.last("read_messages", "messages") } }),
  figures: (known) => {
    const value = (name: string): number | null => amount(known.get("view_my_value", name));
    return [[known.state.turn.role === "seller" ? "Your cost" : "Your value", number(value("value"))], ["Earned so far", number(value("payoff_so_far"))],
      ["Rounds traded", number(value("rounds_traded"))], ["Rounds left", number(known.state.turn.market["rounds_left"])]];
  },
  parts: (known) => {
    const closed = known.rows("view_history", "rounds"), own = known.state.seat, limit = amount(known.get("view_my_value", "value"));
    const quoted = (round: Json): number | null => amount(rows(round["quotes"]).find((quote) => quote["trader"] === own)?.["price"]);
    const best = (round: Json, role: string): string => {
      const prices = rows(round["quotes"]).filter((quote) => quote["role"] === role).map((quote) => amount(quote["price"]) ?? 0);
      return prices.length ? number(role === "buyer" ? Math.max(...prices) : Math.min(...prices)) : "–";
    };
    const traded = (round: Json): Json | undefined => rows(round["trades"]).find((trade) => trade["buyer"] === own || trade["seller"] === own);
    const dots = closed.flatMap((round) => rows(round["trades"]).map((trade): [number, number] => [amount(round["round"]) ?? 0, amount(trade["price"]) ?? 0]));
    const chart = xy("Prices by round", "round", { label: "price", unit: "points" },
      [line("trades", dots, "dots"), line("your quote", points(closed, "round", quoted))],
      { accent: "your quote", bands: limit === null ? [] : [{ label: known.state.turn.role === "seller" ? "your cost" : "your value", low: limit, high: limit }] });
    const rounds = closedRounds(closed, [count("Round", "round"), { name: "Your quote", numeric: true, cell: (round) => number(quoted(round)) },
      { name: "Best bid", numeric: true, cell: (round) => best(round, "buyer") }, { name: "Best ask", numeric: true, cell: (round) => best(round, "seller") },
      { name: "Trades at", cell: (round) => rows(round["trades"]).slice(0, 8).map((trade) => number(trade["price"])).join(", ") || "–" },
      { name: "You", cell: (round) => (traded(round) ? `traded at ${number(traded(round)?.["price"])}` : list(round["forfeited"]).includes(own) ? "no quote" : "no trade") }],
    (round) => traded(round) !== undefined, chart);
    const said = known.rows("read_messages", "messages").map((row) => ({ who: row["sender"] === own ? `you to ${text(row["recipient"])}` : `${text(row["sender"])} to ${text(row["recipient"])}`, when: `round ${number(row["round"])}`, said: text(row["text"]), own: row["sender"] === own }));
    return [rounds, ...(known.has("read_messages") ? [{ name: "Messages", key: "talk", content: talk(said) }] : [])];
  },
  choices: (known, parameter) => (parameter === "recipient" ? list(known.get("view_rules", "rules", "chat", "recipients")).map(text).map(same) : []),
};

function same(value: string): Choice {
  return { value, label: value };
}

// --- bargaining ------------------------------------------------------------------------------------------------------

const bargaining: View = {
  looks: (known) => asked(known, { tool: "view_my_value", values: {} }, { tool: "view_history", values: { from_round: Math.min(200, known.last("view_history", "rounds") + 1) } },
    { tool: "read_messages", values: { after: known.last("read_messages", "messages") } }),
  figures: (known) => [[`Your ${text(known.get("view_my_value", "limit_kind")) || "limit"}`, number(known.get("view_my_value", "limit"))], ["Profit so far", number(known.get("view_my_value", "profit_total"))],
    ["Speaks first", text(list(known.state.turn.market["speaking_order"])[0]) === known.state.seat ? "you" : "the other side"]].slice(0, list(known.state.turn.market["speaking_order"]).length ? 3 : 2) as [string, string][],
  parts: (known) => {
    const closed = known.rows("view_history", "rounds"), limit = amount(known.get("view_my_value", "limit")), buys = known.state.turn.role === "buyer";
    const chart = xy("Quotes by round", "round", { label: "price", unit: "ticks" },
      [line("your quote", points(closed, "round", buys ? "bid" : "ask")), line("their quote", points(closed, "round", buys ? "ask" : "bid")), line("trades", points(closed, "round", "price"), "dots")],
      { accent: "your quote", bands: limit === null ? [] : [{ label: buys ? "your value" : "your cost", low: limit, high: limit }] });
    const rounds = closedRounds(closed, [count("Round", "round"), count("Your quote", buys ? "bid" : "ask"), count("Their quote", buys ? "ask" : "bid"), count("Price", "price"), count("Your profit", "my_profit")],
      (round) => round["traded"] === true, chart);
    const said = known.rows("read_messages", "messages").map((row) => ({ who: row["seat"] === known.state.seat ? "you" : text(row["seat"]), when: `round ${number(row["round"])}`, said: text(row["text"]), own: row["seat"] === known.state.seat }));
    return [rounds, ...(known.has("read_messages") ? [{ name: "Messages", key: "talk", content: talk(said) }] : [])];
  },
};

// --- retail ----------------------------------------------------------------------------------------------------------

const SALES_DAYS = 14, SALES_CELLS = 900;

function earlier(date: string, days: number): string {
  const at = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - days * 86_400_000).toISOString().slice(0, 10);
}

function sales(known: Known): Look[] {
  const ids = list(known.get("view_shelf_status", "rows", "product_id")).map(text), date = text(known.state.turn.market["date"]), days = Math.min(SALES_DAYS, Math.floor(SALES_CELLS / (ids.length || 1)));
  if (!ids.length || !earlier(date, 1) || days < 2) return [];
  return [{ tool: "view_sales_profit_history", values: { product_ids: ids, start_date: earlier(date, days), end_date: earlier(date, 1), detail: "daily" } }];
}

const retail: View = {
  unit: "day",
  looks: (known) => asked(known, { tool: "view_shelf_status", values: {} }, { tool: "view_inventory", values: { include_orders: true } }, { tool: "view_product_catalog", values: {}, once: true },
    { tool: "view_today_news", values: {} }, ...sales(known)),
  figures: ({ state: { turn: { market } } }) => [["Cash", money(market["funds"])], ["Net worth, last close", money(field(market, "last", "net_worth"))], ["Date", text(market["date"])],
    ["Days left", number(market["days_left"])], ["Shelf", `${number(market["shelf_used"])} of ${number(market["shelf_capacity"])}`]],
  parts: (known) => {
    const last = field(known.state.turn.market, "last"), names = new Map(columned(known.get("view_product_catalog")).map((row) => [text(row["product_id"]), text(row["description"])]));
    const shelf = new Map(columned(known.get("view_shelf_status", "rows")).map((row) => [text(row["product_id"]), row]));
    const stock = new Map(columned(known.get("view_inventory", "products")).map((row) => [text(row["product_id"]), row]));
    const ids = [...new Set([...shelf.keys(), ...stock.keys()])].sort();
    const body = ids.map((id): Json => ({ id, name: names.get(id) ?? "", ...stock.get(id), ...shelf.get(id), sold: field(last, "units", id) ?? 0 }));
    const table = grid("Shelf and stock", [{ name: "Product", cell: (row) => [foreign(text(row["id"])), " ", h("span", { class: "quiet" }, foreign(text(row["name"])))] },
      { name: "Price", numeric: true, cell: (row) => (row["price"] === undefined ? h("span", { class: "quiet" }, "off shelf") : money(row["price"])) },
      { name: "In stock", numeric: true, cell: (row) => (row["on_hand"] === 0 ? h("b", { class: "low" }, "0") : number(row["on_hand"])) }, count("Coming", "incoming"), count("Sold, last day", "sold")], body);
    const daily = rows(known.get("view_sales_profit_history", "daily")), dates = list(known.get("view_sales_profit_history", "date")).map(text);
    const day = (known.state.turn.round || 1) - dates.length, sum = (key: string): [number, number][] => dates.map((_, place) => [day + place, daily.reduce((all, product) => all + (amount(list(product[key])[place]) ?? 0), 0)]);
    // Closes that this page has seen: no look tells of earlier ones.
    const closes = known.rows("turn", "last");
    const headlines = columned(known.get("view_today_news"));
    const orders = known.get("view_inventory", "orders");
    return [
      { name: "Shelf and stock", key: "shelf", content: ids.length ? table : h("p", { class: "empty" }, "The shelf is empty: choose the assortment, and order what it is to hold.") },
      ...(isObject(last) ? [{ name: `Last close, day ${number(last["day"])}`, key: "close", content: h("dl", { class: "grid" }, ([["Sales", money(last["gross_sales"])], ["Refunds", money(last["refunds"])], ["Rent", money(last["rent"])],
        ["Sold out", list(last["sold_out_products"]).map(text).join(", ") || "none"], ["Empty on the shelf", list(last["empty_shelf_products"]).map(text).join(", ") || "none"]] as const).map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, foreign(value))))) }] : []),
      ...(dates.length ? [{ name: "Sales by day", key: "sales", content: charts(xy("Units sold", "day", { label: "units", unit: "" }, [line("units", sum("units"))]), xy("Profit after refunds", "day", { label: "profit", unit: "" }, [line("profit", sum("net_profit"))]),
        xy("Cash and net worth", "day", { label: "at the close", unit: "" }, [line("cash", points(closes, "day", "funds")), line("net worth", points(closes, "day", "net_worth"))])) }] : []),
      ...(columned(orders).length ? [{ name: "Open orders", key: "orders", content: grid("Open orders", [named("Order", "order_id"), named("Supplier", "supplier_id"), named("Due", "due"), paid("Cost", "cost"), { name: "Units", cell: (row) => wordsOf(inline(row["lines"])) }], columned(orders)) }] : []),
      ...(headlines.length ? [{ name: "Today's news", key: "news", content: grid("News", [named("Headline", "title"), count("Days listed", "days_listed")], headlines) }] : []),
    ];
  },
  choices: (known, parameter) => {
    if (/^product_ids?$/.test(parameter)) return columned(known.get("view_product_catalog")).map((row) => ({ value: text(row["product_id"]), label: `${text(row["product_id"])} ${text(row["description"])}` }));
    return parameter === "supplier_id" ? list(known.get("view_rules", "rules", "suppliers")).map(text).map(same) : [];
  },
  fill: (known, tool): Json => (tool === "set_shelf_products" ? { product_ids: known.get("view_shelf_status", "rows", "product_id") } : {}),
  wanted: () => "end_today",
};

// --- supply chain ----------------------------------------------------------------------------------------------------

const supply: View = {
  // Before a round has closed the history refuses, and refused calls can cost the seat its turn.
  looks: (known) => asked(known, { tool: "view_account", values: {} }, { tool: "list_supplier_offers", values: {} }, { tool: "view_bid_results", values: {} },
    ...(known.state.turn.round > 1 || known.state.over ? [{ tool: "view_market_history", values: {} }] : [])),
  figures: (known) => [["Funds", money(known.state.turn.market["funds"])], ["Stock at cost", money(known.state.turn.market["book_value"])], ["Profit so far", money(known.get("view_account", "profit_total"))],
    ["Units in stock", number(known.state.turn.market["units"])]],
  parts: (known) => {
    const offers = rows(known.get("list_supplier_offers", "offers")), stock = new Map(rows(known.get("view_account", "stock")).map((row) => [row["item"], row]));
    const posted = new Map(rows(known.get("view_account", "offer", "prices")).map((row) => [row["item"], row["price"]]));
    const round = known.rows("view_market_history", "rounds").at(-1), items = list(round?.["items"]), rivals = rows(round?.["rows"]).filter((row) => row["seat"] !== known.state.seat);
    const lowest = (item: unknown): number | null => {
      const prices = rivals.map((row) => amount(list(row["prices"])[items.indexOf(item)])).filter((price) => price !== null);
      return prices.length ? Math.min(...prices) : null;
    };
    const body = offers.map((offer): Json => ({ ...offer, ...stock.get(offer["item"]), posted: posted.get(offer["item"]), lowest: lowest(offer["item"]), sold: rivals.reduce((all, row) => all + (amount(list(row["sold"])[items.indexOf(offer["item"])]) ?? 0), 0) }));
    const label = (row: Json): string => text(row["label"]) || text(row["item"]);
    const table = grid("Items", [{ name: "Item", cell: (row) => [foreign(label(row)), " ", h("span", { class: "quiet" }, foreign(text(row["category"])))] }, count("On offer", "quantity"), paid("Reserve", "reserve"),
      count("Your stock", "units"), paid("Unit cost", "avg_cost"), paid("Your price", "posted"), paid("Lowest rival", "lowest"), count("Rivals sold", "sold")], body);
    const ledger = known.rows("view_account", "rounds");
    const newest = known.rows("view_bid_results", "rounds").at(-1), passes = rows(newest?.["passes"]), pass = passes.at(-1), market = new Map(rows(pass?.["market"]).map((row) => [row["item"], row]));
    const fills = rows(pass?.["lines"]).filter((row) => amount(row["quantity"])).map((row): Json => ({ ...row, all: passes.reduce((sum, other) => sum + (amount(rows(other["lines"]).find((own) => own["item"] === row["item"])?.["filled"]) ?? 0), 0), marginal: market.get(row["item"])?.["marginal"] }));
    const slogans = rivals.filter((row) => text(row["slogan"]));
    return [
      { name: "Items", key: "items", content: [h("p", { class: "aside" }, "Your slogan: ", foreign(text(known.get("view_account", "offer", "slogan")) || "none")), table, bars("Your stock", { label: "units", unit: "" }, body.map(label), body.map((row) => amount(row["units"]) ?? 0))] },
      ...(fills.length ? [{ name: `Your bids, round ${number(newest?.["round"])}`, key: "bids", content: grid("Your bids", [named("Item", "item"), count("Asked", "quantity"), paid("At", "price"), count("Filled, all passes", "all"), paid("Clearing price", "marginal")], fills) }] : []),
      ...(ledger.length ? [{ name: "Result by round", key: "ledger", content: [xy("Revenue and profit", "round", { label: "currency", unit: "" }, [line("revenue", points(ledger, "round", "revenue")), line("profit", points(ledger, "round", "profit"))]),
        grid("Result by round", [count("Round", "round"), paid("Revenue", "revenue"), paid("Profit", "profit")], [...ledger].reverse())] }] : []),
      ...(slogans.length ? [{ name: `Rivals' slogans, round ${number(round?.["round"])}`, key: "slogans", content: [h("p", { class: "aside" }, THEIRS),
        grid("Slogans", [named("Retailer", "seat"), { name: "Slogan", cell: (row) => wordsOf(text(row["slogan"])) }, { name: "Units sold", numeric: true, cell: (row) => number(list(row["sold"]).reduce<number>((all, sold) => all + (amount(sold) ?? 0), 0)) }], slogans)] }] : []),
    ];
  },
  choices: (known, parameter) => (/^items?$/.test(parameter) ? rows(known.get("list_supplier_offers", "offers")).map((row) => ({ value: text(row["item"]), label: text(row["label"]) || text(row["item"]) })) : []),
  fill: (known, tool): Json => {
    const items = rows(known.get("list_supplier_offers", "offers")).map((offer) => ({ item: offer["item"] }));
    if (tool === "submit_bids" || tool === "check_bid_cost") return { bids: items };
    const posted = new Map(rows(known.get("view_account", "offer", "prices")).map((row) => [row["item"], row["price"]]));
    return tool === "submit_offer" || tool === "compare_prices" ? { prices: items.map((row) => ({ ...row, price: posted.get(row.item) })) } : {};
  },
};

// --- marketplace -----------------------------------------------------------------------------------------------------

const OPEN = ["open"];

// One proposal: what is offered, and what the seat may do with it.
function proposal(row: Json, known: Known, open: Open): HTMLElement {
  const id = text(row["proposal"]), state = text(row["state"]);
  return h("li", { class: `offer ${state}` },
    h("p", { class: "head" }, h("b", {}, foreign(text(row["counterpart"]))), h("span", { class: "total num" }, money(row["total"])), h("span", { class: "tag" }, words(state)),
      amount(row["rounds_left"]) === null ? null : h("span", { class: "quiet" }, `${number(row["rounds_left"])} rounds left`)),
    h("ul", { class: "order" }, rows(row["lines"]).map((part) => h("li", {}, h("span", { class: "num" }, `${number(part["quantity"])} × `), wordsOf(text(part["item"])), h("span", { class: "quiet num" }, ` ${money(part["unit_price"])}`)))),
    list(row["claims"]).length ? h("p", { class: "quiet" }, "Claims: ", list(row["claims"]).map((claim, place) => [place ? ", " : "", foreign(text(claim))])) : null,
    text(row["note"]) ? h("p", { class: "words", dir: "auto" }, text(row["note"])) : null,
    OPEN.includes(state) ? moves(known, open, ["Pay", id, "pay_proposal", { proposal: id, expected_total: row["total"] }], ["Reject", id, "reject_proposal", { proposal: id }], ["Withdraw", id, "withdraw_proposal", { proposal: id }]) : null);
}

// What a customer asks for, in words; money of an inquiry is in currency.
function inquiry(value: unknown): string {
  const items = rows(field(value, "items")).map((wish) => `${number(wish["quantity"])} × ${text(wish["item"])}`), amenities = list(field(value, "amenities")).map(text), offer = amount(field(value, "offer"));
  return [items.length ? `Asks for ${items.join(", ")}.` : "", amenities.length ? `With ${amenities.join(", ")}.` : "", offer === null ? "" : `Would pay ${money(offer)}.`].filter(Boolean).join(" ");
}

// The proposal that would answer a customer's newest inquiry, at list prices.
function proposing(known: Known, customer: string, mail: Json[]): Json | null {
  const wishes = rows(field(mail.findLast((row) => row["counterpart"] === customer && isObject(row["inquiry"]))?.["inquiry"], "items"));
  const prices = new Map(rows(known.get("view_my_business", "menu")).map((entry) => [entry["item"], entry["price"]]));
  return wishes.length ? { to: customer, lines: wishes.map((wish) => ({ ...wish, unit_price: prices.get(wish["item"]) })) } : null;
}

const marketplace: View = {
  looks: (known) => asked(known, { tool: "view_my_request", values: {} }, { tool: "view_my_business", values: {} }, { tool: "receive_messages", values: { after: known.last("receive_messages", "entries") } }, { tool: "view_proposals", values: {} }),
  figures: (known) => {
    const { market } = known.state.turn, budget = known.get("view_my_request", "budget_left"), value = known.get("view_my_request", "value"), room = known.get("view_my_business", "capacity_left");
    return [["Rounds left", number(market["rounds_left"])], ["Unread", number(market["unread"])], ["Open proposals", number(market["open_proposals"])], ["Queued", number(market["queued"])],
      ...(amount(budget) === null ? [] : [["Budget left", money(budget)]]), ...(amount(value) === null ? [] : [["Worth to you", money(value)]]), ...(amount(room) === null ? [] : [["Orders, room", `${number(known.get("view_my_business", "orders"))}, ${number(room)}`]])] as [string, string][];
  },
  parts: (known, open) => {
    const request = known.get("view_my_request"), business = known.get("view_my_business");
    const mail = known.rows("receive_messages", "entries"), proposals = known.rows("view_proposals", "proposals");
    const others = [...new Set(mail.map((row) => text(row["counterpart"])))];
    const body = (row: Json): Said => ({ who: row["kind"] === "message" ? text(row["counterpart"]) : words(text(row["kind"])), when: `round ${number(row["round"])}`, said: [text(row["text"]) || text(row["proposal"]), inquiry(row["inquiry"])].filter(Boolean).join("\n") || "–", own: false });
    const answers = (other: string): Child => {
      const made = proposing(known, other, mail);
      return moves(known, open, ["Answer", other, "send_message", { to: [other] }], ...(made ? [["Propose", `to ${other}`, "send_proposal", made]] as Move[] : []));
    };
    return [
      ...(isObject(request) ? [{ name: "Wanted", key: "request", content: [h("p", { class: "words", dir: "auto" }, text(request["request"])),
        grid("Wanted items", [named("Item", "item"), count("Quantity", "quantity")], rows(request["items"])), list(request["amenities"]).length ? h("p", {}, "With ", foreign(list(request["amenities"]).map(text).join(", "))) : null] }] : []),
      { name: `Proposals (${number(proposals.length)})`, key: "proposals", content: proposals.length ? h("ul", { class: "offers" }, [...proposals].sort((a, b) => Number(OPEN.includes(text(b["state"]))) - Number(OPEN.includes(text(a["state"]))) || Number(b["number"]) - Number(a["number"])).slice(0, 40).map((row) => proposal(row, known, open))) : h("p", { class: "empty" }, "No proposal yet.") },
      { name: `Conversations (${number(others.length)})`, key: "mail", content: others.length ? [h("p", { class: "aside" }, THEIRS), others.slice(-30).reverse().map((other, place) => h("details", { class: "block", "data-key": `with ${other}`, open: place === 0 },
        h("summary", {}, foreign(other), ` (${number(mail.filter((row) => row["counterpart"] === other).length)})`), talk(mail.filter((row) => row["counterpart"] === other).map(body), true), answers(other)))] : h("p", { class: "empty" }, "Nobody has written.") },
      ...(isObject(business) ? [{ name: "Your menu", key: "menu", content: [grid("Menu", [named("Item", "item"), paid("List price", "price")], rows(business["menu"])), h("p", {}, "Truly offered: ", foreign(rows(business["amenities"]).filter((row) => row["offered"] === true).map((row) => text(row["name"])).join(", ") || "no amenity"))] }] : []),
    ];
  },
  choices: (known, parameter) => {
    const found = rows(known.get("search_businesses", "results") ?? known.get("search_businesses", "businesses")), mail = known.rows("receive_messages", "entries");
    const handles = new Map<string, string>([...found.map((row): [string, string] => [text(row["business"]), text(row["name"])]), ...mail.map((row): [string, string] => [text(row["counterpart"]), "has written"])]);
    if (["to", "business", "counterpart", "sender"].includes(parameter)) return [...handles].filter(([handle]) => handle).map(([value, name]) => ({ value, label: `${value} ${name}` }));
    if (/^proposals?$/.test(parameter)) return known.rows("view_proposals", "proposals").filter((row) => OPEN.includes(text(row["state"]))).map((row) => ({ value: text(row["proposal"]), label: `${text(row["proposal"])} ${money(row["total"])}` }));
    if (parameter === "item") return [...rows(known.get("view_my_business", "menu")), ...rows(known.get("view_my_request", "items"))].map((row) => same(text(row["item"])));
    return parameter === "claims" || parameter === "amenities" ? rows(known.get("view_my_business", "amenities")).map((row) => same(text(row["name"]))) : [];
  },
};

// --- posted prices ---------------------------------------------------------------------------------------------------

const pricing: View = {
  looks: (known) => asked(known, { tool: "view_my_firm", values: {} }, { tool: "view_prices", values: {} }, { tool: "view_my_sales", values: {} }),
  figures: (known) => {
    const firm = (key: string): string => number(known.get("view_my_firm", key));
    return [["Your unit cost", firm("cost_now")], ["Your price", firm("posted_price")], ["Profit, last round", number(known.state.turn.market["last_profit"])], ["Profit so far", firm("profit_so_far")],
      ...(known.rows("view_prices", "rounds").some((round) => round["index"]) || known.get("view_my_firm", "index") ? [["Index", firm("index")] as [string, string]] : [])];
  },
  parts: (known, open) => {
    const closed = known.rows("view_prices", "rounds"), sold = new Map(known.rows("view_my_sales", "rounds").map((row) => [row["round"], row])), own = known.state.seat;
    const cost = amount(known.get("view_my_firm", "cost_now")), [before, last] = [closed.at(-2), closed.at(-1)];
    const firms = Object.keys(isObject(last?.["prices"]) ? last["prices"] : {});
    const price = (round: Json | undefined, firm: string): number | null => amount(field(round, "prices", firm));
    const lowest = (round: Json): number | null => {
      const prices = firms.filter((firm) => firm !== own).map((firm) => price(round, firm)).filter((value) => value !== null);
      return prices.length ? Math.min(...prices) : null;
    };
    const body = firms.map((firm): Json => {
      const now = price(last, firm), then = price(before, firm);
      return { firm, now, change: now === null || then === null ? null : now - then, units: field(last, "units", firm) ?? (firm === own ? sold.get(last?.["round"])?.["units"] : null), cost: field(known.get("view_my_firm", "costs"), firm) };
    });
    const set = (price: number): Json => ({ price });
    const steps = (row: Json): Child => {
      const firm = text(row["firm"]), now = amount(row["now"]);
      if (now === null) return null;
      return firm === own ? moves(known, open, ["Keep", `${now}`, "set_price", set(now)]) : moves(known, open, ["Match", `${firm} at ${now}`, "set_price", set(now)], ...(now > 0 ? [["Undercut", `${firm} at ${now - 1}`, "set_price", set(now - 1)] as Move] : []));
    };
    const shown = (key: string): boolean => body.some((row) => amount(row[key]) !== null);
    const table = grid("Last prices", [{ name: "Firm", cell: (row) => (row["firm"] === own ? ["you, ", foreign(own)] : foreign(text(row["firm"]))) }, { name: "Price", numeric: true, cell: (row) => (row["now"] === null ? h("span", { class: "quiet" }, "closed") : number(row["now"])) },
      { name: "", cell: steps }, count("Change", "change"), ...(shown("units") ? [count("Units", "units")] : []), ...(shown("cost") ? [count("Unit cost", "cost")] : [])], body, (row) => row["firm"] === own);
    const rows = closed.map((round): Json => ({ ...round, ...sold.get(round["round"]), lowest: lowest(round) }));
    return [
      { name: last ? `Prices of round ${number(last["round"])}` : "Prices", key: "firms", content: last ? table : h("p", { class: "empty" }, "No round has closed yet: no firm's price is known.") },
      closedRounds(rows, [count("Round", "round"), count("Your price", "price"), ...(firms.length > 1 ? [count(firms.length > 2 ? "Lowest rival" : "Rival", "lowest")] : []), count("Your units", "units"), count("Your profit", "profit"),
        ...(rows.some((round) => round["index"]) ? [count("Index", "index")] : [])], () => false,
      xy("Prices by round", "round", { label: "price", unit: "minor units" }, firms.map((firm) => line(firm === own ? "you" : firm, points(closed, "round", (round) => price(round, firm)))),
        { accent: "you", bands: cost === null ? [] : [{ label: "your unit cost", low: cost, high: cost }] }),
      xy("Your profit by round", "round", { label: "profit", unit: "minor units" }, [line("you", points(rows, "round", "profit"))], { accent: "you" })),
    ];
  },
};

// --- the order book --------------------------------------------------------------------------------------------------

type Side = "buy" | "sell";
const DEEP = 15;

// Sides on which this seat may trade: buyers buy, sellers sell, traders of shares do both.
function sides(known: Known): Side[] {
  const { role } = known.state.turn;
  return role === "buyer" ? ["buy"] : role === "seller" ? ["sell"] : ["buy", "sell"];
}

// What one may do at a price: trade with what rests there, or rest there oneself.
function orders(known: Known, open: Open, price: number, crosses: (side: Side) => boolean): HTMLElement {
  const verbs = { buy: ["Buy", "Bid"], sell: ["Sell", "Ask"] } as const;
  return moves(known, open, ...sides(known).map((side): Move => [verbs[side][crosses(side) ? 0 : 1], `at ${price}`, "submit_order", { side, price }]));
}

const orderBook: View = {
  unit: "period",
  looks: (known) => asked(known, { tool: "view_my_account", values: {} }, { tool: "view_book", values: { levels: DEEP } }, { tool: "view_my_orders", values: {} }, { tool: "view_trades", values: {} }),
  figures: (known) => {
    const account = (key: string): string => number(known.get("view_my_account", key)), left = list(known.get("view_my_account", "remaining")).length;
    const holdings: [string, string][] = amount(known.get("view_my_account", "cash")) === null
      ? [[known.state.turn.role === "seller" ? "Your next unit costs" : "Your next unit is worth", account("next_unit_value")], ["Units left", number(left)]]
      : [["Cash", account("cash")], ["Free cash", account("free_cash")], ["Shares", account("shares")], ["Free shares", account("free_shares")], ["A share is worth", account("fundamental_value")]];
    return [...holdings, ["Earned so far", account("profit_so_far")], ["Last price", number(known.state.turn.market["last_price"])], ...(amount(known.get("view_my_account", "steps_left")) === null ? [] : [["Steps left, all seats", account("steps_left")] as [string, string]])];
  },
  parts: (known, open) => {
    const bids = rows(known.get("view_book", "bids")), asks = rows(known.get("view_book", "asks")), bid = amount(known.get("view_book", "best_bid")), ask = amount(known.get("view_book", "best_ask"));
    const mine = rows(known.get("view_my_orders", "orders")), worth = amount(known.get("view_my_account", "next_unit_value")) ?? amount(known.get("view_my_account", "fundamental_value"));
    const at = (levels: Json[], price: number): unknown => levels.find((level) => level["price"] === price)?.["quantity"];
    const prices = [...new Set([...bids, ...asks, ...mine].map((level) => amount(level["price"]) ?? 0))].sort((a, b) => b - a);
    const ladder = prices.map((price): Json => ({ price, bid: at(bids, price), ask: at(asks, price), own: mine.filter((order) => order["price"] === price) }));
    // What lies between the best prices: one tick better than one's own side's best, where that trades with nobody.
    const inside = sides(known).flatMap((side): Move[] => {
      const better = side === "buy" ? (bid === null ? null : bid + 1) : ask === null ? null : ask - 1;
      return better === null || better < 1 || (side === "buy" ? ask !== null && better >= ask : bid !== null && better <= bid) ? [] : [[side === "buy" ? "Bid" : "Ask", `at ${better}`, "submit_order", { side, price: better }]];
    });
    const gap = prices.findIndex((price) => bid !== null && price <= bid);
    ladder.splice(gap < 0 ? ladder.length : gap, 0, { gap: true, own: [] });
    const own = (row: Json): Child => rows(row["own"]).map((order) => [`${number(order["quantity"])} (${order["ahead"] ? `${number(order["ahead"])} ahead` : "first"}) `, moves(known, open, ["Cancel", `order ${number(order["order"])}`, "cancel_order", { order: order["order"] }])]);
    const table = grid("Order book", [{ name: "Price", cell: (row) => (row["gap"] ? h("span", { class: "quiet" }, bid !== null && ask !== null ? `spread ${number(ask - bid)}` : "–") : number(row["price"])), numeric: true },
      { name: "Bids", numeric: true, cell: (row) => (row["bid"] === undefined ? null : number(row["bid"])) }, { name: "Asks", numeric: true, cell: (row) => (row["ask"] === undefined ? null : number(row["ask"])) },
      { name: "", cell: (row) => (row["gap"] ? moves(known, open, ...inside) : orders(known, open, amount(row["price"]) ?? 0, (side) => row[side === "buy" ? "ask" : "bid"] !== undefined)) }, { name: "Yours", cell: own }], ladder, (row) => rows(row["own"]).length > 0);
    const trades = known.rows("view_trades", "trades"), units = list(known.get("view_my_account", "remaining")).map(number);
    return [
      { name: "Order book", key: "book", content: [units.length ? h("p", { class: "aside" }, `Your units, in the order in which they are ${known.state.turn.role === "seller" ? "sold; they cost" : "bought; they are worth"} ${units.join(", ")}.`) : null,
        bids.length || asks.length ? table : [h("p", { class: "empty" }, "Nobody has an order in the book."), moves(known, open, ...sides(known).map((side): Move => [side === "buy" ? "Bid" : "Ask", "a price", "submit_order", { side }]))]] },
      { name: "Trades", key: "trades", content: trades.length ? [charts(xy("Prices of trades", "trade", { label: "price", unit: "ticks" }, [line("trades", points(trades, "number", (trade) => (trade["mine"] ? null : trade["price"])), "dots"), line("your trades", points(trades, "number", (trade) => (trade["mine"] ? trade["price"] : null)), "dots")],
        { accent: "your trades", bands: worth === null ? [] : [{ label: known.state.turn.role === "trader" ? "a share's worth" : known.state.turn.role === "seller" ? "your next cost" : "your next value", low: worth, high: worth }] })),
        grid("Trades", [count("Trade", "number"), count("Price", "price"), count("Units", "quantity"), { name: "Yours", cell: (trade) => (trade["mine"] ? "yes" : null) }, count("Period", "period"), count("Step", "step"), { name: "Came last", cell: (trade) => (trade["aggressor"] === "buy" ? "the buyer" : "the seller") }],
          [...trades].reverse().slice(0, 30), (trade) => trade["mine"] === true)] : h("p", { class: "empty" }, "Nothing has been traded yet.") },
    ];
  },
  fill: (known, tool): Json => {
    const [side, other] = sides(known), mine = rows(known.get("view_my_orders", "orders"));
    if (tool === "submit_order") return other ? {} : { side };
    return tool === "cancel_order" && mine.length === 1 ? { order: mine[0]?.["order"] } : {};
  },
};

// --- any other market ------------------------------------------------------------------------------------------------

const other: View = {
  // The market's own looks that need no arguments come first, and the kernel's last: a few of the first.
  looks: (known) => asked(known, ...known.state.reads.filter((read) => !list(read.inputSchema["required"]).length && ![RULES.tool, "view_notes"].includes(read.name) && /^(view|list|read|show|get|receive)/.test(read.name)).slice(0, 3).map((read) => ({ tool: read.name, values: {} }))),
  figures: ({ state: { turn } }) => Object.entries(turn.market).filter(([, value]) => typeof value === "number").slice(0, 8).map(([name, value]) => [begun(name), number(value)]),
  parts: (known) => known.state.reads.filter((read) => read.name !== RULES.tool && known.has(read.name)).map((read) => ({ name: read.title, key: read.name, content: general(known.get(read.name)) })),
};

// What the seat is there for, and the rules of its market.
export function rulesPart(known: Known): Child {
  if (!known.has(RULES.tool)) return null;
  const told = ["role", "objective", "round_semantics"].map((name) => text(known.get(RULES.tool, name)));
  return h("details", { class: "part", "data-key": "rules" }, h("summary", {}, h("h2", {}, "Your part and the rules")), told.map((sentence) => h("p", { class: "words" }, sentence)), general(known.get(RULES.tool, "rules")));
}

const VIEWS: Record<string, View> = { double_auction: auction, bargaining, retail, supply_chain: supply, marketplace, pricing, order_book: orderBook };

export function viewOf(market: string): View {
  return (Object.hasOwn(VIEWS, market) ? VIEWS[market] : undefined) ?? other;
}

// Another market, or an answer that the market's view cannot read.
export const plainView = other;
