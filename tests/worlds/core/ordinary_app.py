"""A task that brings an ordinary FastAPI app: one operation for each thing that such an app can do, and requests for all."""

from __future__ import annotations

from pathlib import Path

from harness.registry import Task, read_task
from harness.trust import admitted
from parley.proof.sync import new_task, sync, vouched
from worlds.core.wire import WireRequest, request

SERVER = '''
"""A shop, as a web developer would write one."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, BackgroundTasks, Depends, FastAPI, Header, HTTPException, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Unreadable, Violation
from worlds.core.chance import Chance
from worlds.core.clock import VirtualClock
from worlds.core.depends import chance, clock, cost, episode

app = FastAPI()
router = APIRouter(prefix="/shelf")
SEEN: list[str] = []


class Shop(ContractWorld):
    """One episode of a shop."""

    def prepare(self) -> None:
        """Draw the price."""
        self.price, self.sold = self.chance("price").between(100, 999), 0

    def facts(self) -> dict[str, object]:
        """What is told."""
        return {"price": self.price}


ShopNow = Annotated[Shop, Depends(episode)]


class Order(BaseModel):
    """What somebody buys."""

    item: Literal["cup", "pot"]
    count: int = Field(gt=0, le=9)


def greeted(x_name: Annotated[str, Header()]) -> str:
    """A plain dependency."""
    return f"Hello {x_name}"


def till(shop: ShopNow) -> Iterator[list[int]]:
    """A dependency that cleans up."""
    drawer: list[int] = []
    yield drawer
    shop.sold += len(drawer)


@app.get("/price")
def price(shop: ShopNow, now: Annotated[VirtualClock, Depends(clock)]) -> dict[str, object]:
    """The price, and when it was asked for."""
    return {"price": shop.price, "at": now.seconds_text}


@app.post("/orders", status_code=201)
async def order(order: Order, shop: ShopNow, drawer: Annotated[list[int], Depends(till)]) -> Order:
    """Buy something."""
    await asyncio.sleep(0)
    drawer.append(order.count)
    return order


@app.get("/greeting", openapi_extra=cost("slow"))
def greeting(said: Annotated[str, Depends(greeted)], times: Annotated[int, Query(ge=1)] = 1) -> str:
    """Something dear."""
    return said * times


@app.get("/coin")
def coin(drawn: Annotated[Chance, Depends(chance)]) -> int:
    """Heads or tails."""
    return drawn("coin").below(2)


@app.get("/seen/{name}")
def seen(name: str) -> list[str]:
    """A list at the top of the module."""
    SEEN.append(name)
    return SEEN


@app.get("/broken")
def broken() -> None:
    """A rule that is always broken."""
    raise Violation(Label.WRONG_VALUE, "this is forbidden", field="all", headers=(("X-Why", "rule"),))


@app.get("/odd")
def odd() -> None:
    """A request that is always unreadable."""
    raise Unreadable("it must be even")


@app.get("/later")
def later() -> None:
    """A planned refusal."""
    raise HTTPException(503, "come back later", headers={"Retry-After": "3"})


@app.get("/empty")
def empty() -> Response:
    """A body where none may be."""
    return Response(b"a body", 204)


@app.get("/header/{value}")
def header(value: str, response: Response) -> str:
    """A header that the caller chooses."""
    response.headers["X-Chosen"] = value
    return "chosen"


@app.get("/teapot")
def teapot() -> Response:
    """A refusal that is a response."""
    return Response("short and stout", 418, media_type="text/tea")


@app.get("/stream")
def stream(background: BackgroundTasks, shop: ShopNow) -> StreamingResponse:
    """A body in parts, and something to do afterwards."""
    background.add_task(setattr, shop, "sold", 50)
    return StreamingResponse(iter([b"one ", b"two"]), media_type="text/plain")


@app.get("/sleep")
async def sleep() -> None:
    """What no world may do."""
    await asyncio.sleep(0.01)


@app.get("/cancel")
async def cancel() -> None:
    """What ends more than a request, elsewhere."""
    raise asyncio.CancelledError


@app.get("/fault")
def fault() -> None:
    """A mistake."""
    raise KeyError("none")


@router.get("/{name:path}")
def shelf(name: str, response: Response) -> dict[str, str]:
    """A router's operation."""
    response.headers["X-Shelf"] = "3"
    return {"name": name}


app.include_router(router)
'''


def shop_task(root: Path) -> Task:
    """A whole task folder around the shop, which may run in this process."""
    folder = new_task(root, "contract", "shop", "fastapi")
    (folder / "environment/api/server.py").write_text(SERVER.replace('cost("slow")', 'cost("value")'), encoding="utf-8")
    (folder / "environment/api/instruction.md.j2").write_text("The price is {{ price }}.\n", encoding="utf-8")
    toml = folder / "task.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("steps = 10", "steps = 100"), encoding="utf-8")
    sync(folder, vouched)
    return admitted(read_task(folder))


JSON = {"Content-Type": "application/json"}
ORDER = b'{"item":"cup","count":2}'
ASKED: list[WireRequest] = [
    *(
        request("GET", target)
        for target in ("/price", "/coin", "/seen/a", "/seen/b", "/shelf/a%20b/c%2F", "/stream", "/teapot")
    ),
    *(request("GET", target) for target in ("/broken", "/odd", "/later", "/greeting", "/docs", "/openapi.json", "/price/")),
    request("GET", "/greeting?times=2", headers={"X-Name": "\xe9"}),
    request("POST", "/orders", headers=JSON, body=ORDER),
    request("POST", "/orders", headers=JSON, body=ORDER.replace(b"2", b"0")),
    request("POST", "/orders", headers=JSON, body=b"{"),
    request("POST", "/orders", body=ORDER),
    request("POST", "/price"),
    request("GET", "/header/a"),
]
"""Every operation that does not fail, and requests that none answers."""

FAULTS = ("/sleep", "/fault", "/cancel", "/header/a%0D%0AX-More:%201")
